"""The first page says what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .server import TOKEN, Served
from .turns import bash, say

README = (Path(__file__).parents[2] / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
TURNS = [bash("git push --force"), say("I was not allowed to.")]


def printed(program: str) -> str:
    """What a program prints."""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_two_minutes_are_true(tmp_path: Path):
    served = Served(tmp_path, TURNS)
    try:
        out = printed(PROGRAMS[0].replace("unix:///tmp/v.sock", f"unix://{served.socket}"))
        assert out.startswith("blocked by ")
        assert out.endswith("no_force: force is for humans\n")
        out = printed(PROGRAMS[1].replace("127.0.0.1:7777", served.tcp).replace("…", TOKEN))
        assert out == "I was not allowed to.\n"
    finally:
        served.stop()


def test_all_programs_can_be_read():
    for program in PROGRAMS:
        compile(program, "README.md", "exec", flags=0x2000)  # with `await` outside of functions
