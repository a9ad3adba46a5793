"""What a session tells while it runs: one dictionary per event, told apart by `event`."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from .events import RunStatus, Stop, ToolCall, ToolResult, Usage


class RunReport(TypedDict):
    """How a run ended."""

    session_id: str
    run_id: str
    status: RunStatus
    stop: Stop
    text: str
    steps: int
    tool_calls: int
    usage: Usage
    duration_ms: int


class SessionReport(TypedDict):
    """The totals of a session."""

    session_id: str
    usage: Usage
    tool_calls: int
    runs: int
    steps: int
    duration_ms: int
    watches: dict[str, Any]


class Record(TypedDict):
    """What a dispatch leaves behind: who ran, in which order, what changed, who decided."""

    point: str
    hooks: list[dict[str, Any]]
    verdict: str
    decided_by: NotRequired[str]
    reason: NotRequired[str]
    took: dict[str, int]


class _News(TypedDict):
    number: int
    """Counts from 1, without gaps: `session.events(after=number)` yields what came after it."""
    run_id: str
    agent: str
    depth: int
    """0 for the agent itself, 1 for its subagents."""


class StepNews(_News):
    """A step began."""

    event: Literal["step"]
    step: int


class DeltaNews(_News):
    """The model said something."""

    event: Literal["delta"]
    channel: Literal["text", "reasoning", "call"]
    text: str
    index: NotRequired[int]
    tool: NotRequired[str]


class UsedNews(_News):
    """A model call ended."""

    event: Literal["used"]
    usage: Usage


class ToolBeganNews(_News):
    """A tool began to run."""

    event: Literal["tool_began"]
    call: ToolCall


class ToolSaysNews(_News):
    """A running tool said something."""

    event: Literal["tool_says"]
    call_id: str
    text: str


class ToolEndedNews(_News):
    """A call ended, run or refused."""

    event: Literal["tool_ended"]
    call: ToolCall
    result: ToolResult


class HooksNews(_News):
    """Hooks ran."""

    event: Literal["hooks"]
    record: Record
    subject: str
    call_id: NotRequired[str]


class AskedNews(_News):
    """A person is asked."""

    event: Literal["asked"]
    approval: dict[str, Any]


class DecidedNews(_News):
    """A person answered."""

    event: Literal["decided"]
    call_id: str
    decision: dict[str, Any]


class NoticeNews(_News):
    """Something worth knowing."""

    event: Literal["notice"]
    kind: str
    message: str


class RetryNews(_News):
    """A model call failed and is made again after a wait."""

    event: Literal["retry"]
    message: str
    retry: int
    wait_ms: int
    cut_off: bool


class MissedNews(_News):
    """The reader was too slow and missed events."""

    event: Literal["missed"]
    events: int


class EndedNews(_News):
    """A run ended, of the agent or of a subagent."""

    event: Literal["ended"]
    report: RunReport


News = (
    StepNews
    | DeltaNews
    | UsedNews
    | ToolBeganNews
    | ToolSaysNews
    | ToolEndedNews
    | HooksNews
    | AskedNews
    | DecidedNews
    | NoticeNews
    | RetryNews
    | MissedNews
    | EndedNews
)
