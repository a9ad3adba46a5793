"""The points of an agent's life: what each can honour, and what an answer may change there."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from .errors import PointError

About = Literal["neither", "call", "step"]
"""What the events of a point are about, and so what can be matched there."""

ARGS = "args"
"""What is open at a point where all arguments of a call may be changed."""


@dataclass(frozen=True)
class Point:
    """A named place in the life of an agent where hooks run."""

    name: str
    verdicts: tuple[str, ...] = ()
    """What it can honour, besides `proceed` and `skip`."""
    opens: str | tuple[str, ...] = ()
    """What an answer may change: `ARGS`, or these fields."""
    guards: bool = True
    """Whether a guard is possible at this point."""
    about: About = "neither"
    aliases: tuple[str, ...] = ()
    """Other names, as other agents write them."""

    def honours(self, word: str) -> bool:
        """Whether this verdict can be answered here."""
        return word in ("proceed", "skip") or word in self.verdicts

    @property
    def can_refuse(self) -> bool:
        """Whether something can still be kept from happening, so that hooks fail closed unless told otherwise."""
        return "deny" in self.verdicts or "halt" in self.verdicts


_REQUEST = ("model", "system_prompt", "messages", "tools", "max_output_tokens", "temperature", "options")

POINTS: dict[str, Point] = {
    point.name: point
    for point in (
        Point("SessionStart", opens=("system_prompt",), guards=False),
        Point("PromptSubmit", ("deny",), opens=("prompt", "context"), aliases=("UserPromptSubmit", "InputSubmitted")),
        Point("ExecutionStart", ("stop",)),
        Point("BeforeStep", ("stop",), aliases=("StepStart",)),
        Point("BeforeInference", ("deny", "replace", "retry", "stop"), opens=_REQUEST, aliases=("GenerateStart",)),
        Point("InferenceDelta", ("hold", "halt"), opens=("text",)),
        Point("AfterInference", ("retry", "stop"), opens=("response",), aliases=("GenerateEnd",)),
        Point(
            "BeforeToolUse",
            ("allow", "ask", "deny", "replace", "retry", "stop"),
            opens=ARGS,
            about="call",
            aliases=("PreToolUse",),
        ),
        Point("PermissionRequest", ("allow", "deny"), about="call"),
        Point("AfterToolUse", ("retry", "stop"), opens=("result",), about="call", aliases=("PostToolUse",)),
        Point("ToolUseFailed", ("recover", "retry", "stop"), about="call", aliases=("PostToolUseFailure",)),
        Point("AfterStep", ("stop", "go_on"), about="step", aliases=("StepEnd",)),
        Point("ShouldContinue", ("stop", "go_on"), about="step", aliases=("Stop",)),
        Point("OnError", ("recover", "stop"), aliases=("AgentFailed",)),
        Point("ExecutionEnd", guards=False),
        Point("SessionEnd", guards=False),
        Point("SubagentStart", ("deny",), opens=("prompt", "limits")),
        Point("SubagentStop", ("go_on",), opens=("text",), guards=False),
        Point("BeforeCompact", ("deny",), opens=("instructions",), aliases=("PreCompact",)),
        Point("AfterCompact", guards=False, aliases=("PostCompact",)),
        Point("Notification", guards=False),
    )
}
"""Every point by its name, in the order of an agent's life."""


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


_BY_SPELLING = {_plain(name): point for point in POINTS.values() for name in (point.name, *point.aliases)}


def point_named(name: str) -> Point:
    """The point of this name or alias, in `PascalCase`, `camelCase`, `snake_case` or `kebab-case`.

    Raises `PointError` if there is none.
    """
    found = _BY_SPELLING.get(_plain(name))
    if found is None:
        known = [name for point in POINTS.values() for name in (point.name, *point.aliases)]
        raise PointError(f"unknown point `{name}`{did_you_mean(name, known)}")
    return found


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of a message about a name that is not known."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""
