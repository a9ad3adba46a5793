"""What came of one event that was put to hooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from .news import Record

# `continue` is a keyword, so it is written in the other form.
_Judged = TypedDict("_Judged", {"continue": bool})


class Judgement(_Judged):
    """What hooks decided about an event. `continue` says whether the agent continues at all."""

    ran: list[dict[str, Any]]
    decision: Literal["allow", "ask", "block", "deny"] | None
    reason: str | None
    decided_by: str | None
    tool_input: dict[str, Any] | None
    """The changed arguments of the call, if hooks changed them."""
    model_context: list[str]
    model_sees: str | None
    user_sees: str | None
    warnings: list[str]
    effects: NotRequired[dict[str, Any]]


@dataclass(frozen=True)
class Fired:
    """What came of an event, and who ran."""

    judgement: Judgement
    record: Record
