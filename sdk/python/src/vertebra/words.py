"""Tools and arguments in the words that hooks of a `HookEngine` know, and back.

Policies are written for `Write` with its `file_path` and for `Bash` with its `timeout`, whatever the tools of an agent
are called. So a payload has those names, a file's path is absolute and without `..`, and what a handler changes is put
back into the names that the tool takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TOOLS = {
    "bash": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "list_dir": "LS",
    "search_files": "Glob",
    "grep": "Grep",
    "spawn_subagent": "Task",
    "load_skill": "Skill",
}
_OWN = {known: own for own, known in _TOOLS.items()}
_ARGS: dict[str, dict[str, str]] = {
    "bash": {"timeout_ms": "timeout"},
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path"},
}


def known_tool(tool: str) -> str:
    """The name that policies know. A tool that has no other keeps its name."""
    return _TOOLS.get(tool, tool)


def own_tool(tool: str) -> str:
    """The runtime's name of a tool, from either."""
    return _OWN.get(tool, tool)


def known_args(tool: str, args: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The arguments of a call as policies know them."""
    names = _ARGS.get(tool, {})
    known = {names.get(key, key): value for key, value in args.items()}
    path = known.get("file_path")
    if "path" in names and isinstance(path, str):
        known["file_path"] = absolute(folder, path)
    return known


def own_args(tool: str, known: Mapping[str, Any], before: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Arguments as policies write them, as the tool takes them. What was left as it was shown is as it was."""
    names = {theirs: ours for ours, theirs in _ARGS.get(tool, {}).items()}
    shown = known_args(tool, before, folder)
    own: dict[str, Any] = {}
    for key, value in known.items():
        name = names.get(key, key)
        is_untouched = name in before and key in shown and shown[key] == value
        own[name] = before[name] if is_untouched else value
    return own


def absolute(folder: str, path: str) -> str:
    """The path without `.`, `..`, doubled or trailing slashes, against the folder if it is relative."""
    path = path.removeprefix("file://")
    parts: list[str] = []
    for part in ("" if path.startswith("/") else folder).split("/") + path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
