"""Whether a matcher holds for an event, as far as that can be known without the server.

The server knows more: it parses command lines, so that a pattern is also asked of each command inside a pipeline, a
list or `sh -c`, and it knows all names of a tool. Here a command is its text, and a tool has the name it has in the
payload.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .glob import path_regex, tool_regex
from .hook import HookMatcher
from .words import absolute

_NAMES = frozenset(
    ("path", "paths", "file", "files", "filename", "dir", "directory", "folder", "cwd", "root"),
)
_ENDINGS = ("path", "paths", "file", "files", "dir", "directory", "folder")


def holds(matcher: HookMatcher | None, payload: Mapping[str, Any]) -> bool:
    """Whether all that the matcher asks for holds."""
    if matcher is None:
        return True
    fields, args = matcher.fields, payload.get("args", {})
    if fields.session_id is not None and fields.session_id != payload.get("session_id"):
        return False
    if fields.tool is not None and not tool_regex(fields.tool).fullmatch(payload.get("tool", "")):
        return False
    if fields.command_pattern is not None and not re.search(fields.command_pattern, _command(args)):
        return False
    if fields.path_pattern is None:
        return True
    glob = path_regex(fields.path_pattern)
    return any(glob.fullmatch(path) for path in _paths(args, payload.get("working_directory", "/")))


def _command(args: Mapping[str, Any]) -> str:
    found = args.get("command", args.get("cmd"))
    return found if isinstance(found, str) else ""


def _paths(args: Mapping[str, Any], folder: str) -> Iterator[str]:
    """Every path among the arguments, in absolute form and relative to the folder."""
    for name, value in args.items():
        for path in _collect(value, by_name=_is_path_name(name)):
            whole = absolute(folder, path)
            yield whole
            below = folder.rstrip("/") + "/"
            if whole.startswith(below):
                yield whole.removeprefix(below)


def _collect(value: Any, *, by_name: bool) -> Iterator[str]:
    if isinstance(value, str):
        if by_name or _looks_like_path(value):
            yield value
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _collect(item, by_name=by_name)
    elif isinstance(value, dict):
        for name, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _collect(inner, by_name=_is_path_name(str(name)))  # pyright: ignore[reportUnknownArgumentType]


def _is_path_name(name: str) -> bool:
    return name.lower() in _NAMES or name.lower().endswith(_ENDINGS)


def _looks_like_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~/")) and not any(letter.isspace() for letter in text)
