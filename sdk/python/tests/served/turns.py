"""What a scripted model says, and what came of its calls."""

from __future__ import annotations

from typing import Any

from vertebra import Run, ToolResult

Turn = dict[str, Any]


def say(text: str) -> Turn:
    """It says this, and asks for nothing more."""
    return {"say": text}


def bash(command: str) -> Turn:
    """It asks for a command."""
    return {"call": {"tool": "bash", "args": {"command": command}}}


def write(path: str, content: str) -> Turn:
    """It asks for a file to be written."""
    return {"call": {"tool": "write_file", "args": {"path": path, "content": content}}}


def is_named(hook: str | None, name: str) -> bool:
    """Whether this is the hook of this name. What stands before a slash says whose it is."""
    return hook is not None and (hook == name or hook.endswith(f"/{name}"))


async def ended(run: Run) -> list[ToolResult]:
    """What came of every call of a run."""
    return [news["result"] async for news in run if news["event"] == "tool_ended"]
