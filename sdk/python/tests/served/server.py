"""A real `vertebra serve` with a scripted model, on a loopback port and on a socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

TOKEN = "a-token-for-tests-0123456789abcdef"
PATIENCE = 20.0


def binary() -> str:
    """The program under test. Without it nothing here can be known, so nothing is skipped."""
    path = os.environ.get("VERTEBRA_BIN")
    if not path:
        pytest.fail("set VERTEBRA_BIN to the `vertebra` program: these tests speak to a real server", pytrace=False)
    if not Path(path).is_file():
        pytest.fail(f"VERTEBRA_BIN is {path}, and there is no such file", pytrace=False)
    return path


class Served:
    """A server of its own, in folders of its own."""

    def __init__(self, root: Path, turns: Sequence[Mapping[str, Any]], *options: str) -> None:
        self.folder = root / "work"
        self.socket = root / "v.sock"
        self.tcp = "tcp://127.0.0.1:0"
        self._root = root
        self._options = options
        self.folder.mkdir()
        (root / "home").mkdir()
        (root / "token").write_text(TOKEN)
        (root / "token").chmod(0o600)
        self._process: subprocess.Popen[str] | None = None
        self.say(turns)
        self.start()

    def say(self, turns: Sequence[Mapping[str, Any]]) -> None:
        """What its model says when it is started next."""
        (self._root / "script.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))

    def start(self) -> None:
        """Starts it, again where it listened before."""
        home = self._root / "home"
        command = [binary(), "serve", "--listen", self.tcp, "--listen", f"unix://{self.socket}"]
        command += ["--token-file", str(self._root / "token"), "--model", f"script:{self._root / 'script.jsonl'}"]
        command += ["--dir", str(self.folder), *self._options]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
        with (self._root / "stderr").open("a") as stderr:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment, cwd=self.folder
            )
        self._wait_for_listeners()

    def _wait_for_listeners(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        # A server that says nothing is ended, so that the reading ends.
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        waiting = {"tcp", "unix"}
        for line in process.stdout:
            address = line.removeprefix("listening on ").strip()
            waiting.discard(address.split(":")[0])
            if address.startswith("tcp:"):
                self.tcp = address
            if not waiting:
                break
        watchdog.cancel()
        if waiting:
            self.stop()
            raise AssertionError(f"the server did not come up: {self.stderr()}")

    def address(self, transport: str) -> tuple[str, str | None]:
        """Where it is reached, and with which token."""
        return (self.tcp, TOKEN) if transport == "tcp" else (f"unix://{self.socket}", None)

    def stderr(self) -> str:
        """What it complained about."""
        return (self._root / "stderr").read_text()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it, and waits until it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()
