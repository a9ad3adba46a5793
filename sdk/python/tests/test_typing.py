"""What a type checker says to whoever holds it wrong, and to whoever does not."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "typing"

Complaints = dict[str, dict[int, set[str]]]


@pytest.fixture(scope="module")
def complaints() -> Complaints:
    """The rules that are broken, by file and line."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(FOLDER)]
    # It exits with 1 when there is something to say.
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(ended.stdout)
    assert said["summary"]["filesAnalyzed"] == 2
    found: Complaints = {"refused.py": {}, "honoured.py": {}}
    for complaint in said["generalDiagnostics"]:
        lines = found[Path(complaint["file"]).name]
        lines.setdefault(complaint["range"]["start"]["line"] + 1, set()).add(complaint.get("rule", ""))
    return found


def test_what_a_point_cannot_honour_is_a_type_error(complaints: Complaints):
    lines = (FOLDER / "refused.py").read_text().splitlines()
    marks = {number: re.search(r"# refused: (\S+)", line) for number, line in enumerate(lines, 1)}
    expected = {number: mark[1] for number, mark in marks.items() if mark}
    found = complaints["refused.py"]
    assert sorted(found) == sorted(expected)
    for number, rule in expected.items():
        assert rule in found[number], f"line {number}: {found[number]}"


def test_what_a_point_can_honour_is_no_type_error(complaints: Complaints):
    assert complaints["honoured.py"] == {}
