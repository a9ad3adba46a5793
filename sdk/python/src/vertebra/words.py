"""Tools and arguments in the words that hooks of a `HookEngine` know, and back.

Policies are written for `Write` with its `file_path` and for `Bash` with its `timeout`, whatever the tools of an agent
are called. So a payload has those names, a path is absolute and without `..`, and what a handler changes is put back
into the names that the tool takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_KEYS: dict[str, dict[str, str]] = {
    "bash": {"timeout_ms": "timeout"},
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path"},
}


def known_name(tool: str, aliases: Sequence[str]) -> str:
    """The name under which policies know a tool: its first alias in capitals, or its own name."""
    return next((alias for alias in aliases if alias[:1].isupper()), tool)


def known_args(tool: str, args: Mapping[str, Any], working_directory: str) -> dict[str, Any]:
    """The arguments of a call as policies know them."""
    keys = _KEYS.get(tool, {})
    known = {keys.get(key, key): value for key, value in args.items()}
    path = known.get("file_path")
    if isinstance(path, str):
        known["file_path"] = absolute(working_directory, path)
    return known


def tool_args(tool: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as policies write them, as the tool takes them."""
    keys = {theirs: ours for ours, theirs in _KEYS.get(tool, {}).items()}
    return {keys.get(key, key): value for key, value in known.items()}


def absolute(working_directory: str, path: str) -> str:
    """The path without `.`, `..`, doubled or trailing slashes, against the working directory if it is relative."""
    path = path.removeprefix("file://")
    parts: list[str] = []
    for part in ("" if path.startswith("/") else working_directory).split("/") + path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
