"""The event of each point, in its wire form: exactly what a hook in the server sees."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict


class ModelId(TypedDict):
    """Which model, and whose."""

    provider: str
    name: str


class Usage(TypedDict):
    """What model calls cost."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_micros: int


class ToolCall(TypedDict):
    """A tool call that a model asked for."""

    id: str
    tool: str
    args: dict[str, Any]
    malformed: NotRequired[str]


class ToolResult(TypedDict):
    """What came of a tool call."""

    status: Literal["done", "failed", "blocked", "not_run", "cancelled", "unknown"]
    success: bool
    output: str
    exit_code: NotRequired[int]
    duration_ms: int
    data: NotRequired[Any]


class Message(TypedDict):
    """One message of a conversation. Which fields are there depends on the role."""

    role: Literal["user", "instruction", "assistant", "tool"]
    text: NotRequired[str]
    images: NotRequired[list[dict[str, str]]]
    reasoning: NotRequired[str]
    calls: NotRequired[list[ToolCall]]
    carry: NotRequired[Any]
    call_id: NotRequired[str]
    tool: NotRequired[str]
    result: NotRequired[ToolResult]


class Offer(TypedDict):
    """A tool as a model sees it."""

    name: str
    description: str
    schema: dict[str, Any]


class ModelRequest(TypedDict):
    """What a model is asked."""

    model: ModelId
    system_prompt: str
    messages: list[Message]
    tools: list[Offer]
    max_output_tokens: NotRequired[int]
    temperature: NotRequired[float]
    options: NotRequired[Any]


class ModelResponse(TypedDict):
    """What a model answered."""

    text: str
    calls: NotRequired[list[ToolCall]]
    usage: NotRequired[Usage]
    reasoning: NotRequired[str]
    finish: NotRequired[str]
    carry: NotRequired[Any]
    request_id: NotRequired[str]


class Duration(TypedDict):
    """A span of time."""

    secs: int
    nanos: int


class Limits(TypedDict):
    """How much a run may use. `None` is as much as its parent lets it."""

    steps: int | None
    tokens: int | None
    time: Duration | None
    cost_micros: int | None
    deadline: str | None


StopReason = Literal[
    "finished",
    "retries",
    "cost",
    "deadline",
    "time",
    "tokens",
    "steps",
    "requested",
    "suspended",
    "cancelled",
    "error",
]

RunStatus = Literal["completed", "stopped", "cancelled", "failed", "suspended"]

StepKind = Literal["tool_execution", "final_response", "no_response"]


class Stop(TypedDict):
    """Why a run ends."""

    reason: StopReason
    message: str
    source: str
    hard: bool
    context: NotRequired[Any]


class _At(TypedDict):
    """Who, where, when: the head of every event."""

    event_id: str
    point: str
    session_id: str
    run_id: str
    agent: str
    depth: int
    step: int
    timestamp: str
    working_directory: str


class _Call(_At):
    """An event about a call."""

    call_id: str
    tool: str
    aliases: list[str]
    args: dict[str, Any]
    recent_tools: list[str]
    malformed: NotRequired[str]
    time_limit: NotRequired[Duration]


class SessionStartEvent(_At):
    """A session is about to open."""

    system_prompt: str
    model: ModelId
    resumed: bool


class PromptSubmitEvent(_At):
    """A prompt has come in."""

    prompt: str
    context: list[str]
    images: NotRequired[list[dict[str, str]]]


class ExecutionStartEvent(_At):
    """A run begins."""

    prompt: str
    limits: Limits


class BeforeStepEvent(_At):
    """A step is about to begin."""

    messages: int
    usage: Usage


class BeforeInferenceEvent(_At, ModelRequest):
    """A model is about to be asked."""

    purpose: Any


class _CallInSight(TypedDict):
    index: int
    tool: str


class AnswerEnd(TypedDict):
    """How an answer ended. Which fields are there depends on how."""

    how: Literal["finished", "broken_off"]
    reason: NotRequired[str]
    calls: NotRequired[list[ToolCall]]
    error: NotRequired[str]


class InferenceDeltaEvent(_At):
    """A piece of an answer has come in."""

    model: ModelId
    channel: Literal["text", "reasoning", "call"]
    text: str
    last: bool
    call: NotRequired[_CallInSight]
    follows: NotRequired[str]
    end: NotRequired[AnswerEnd]


class AfterInferenceEvent(_At):
    """A model has answered."""

    purpose: Any
    request: ModelRequest
    response: ModelResponse
    duration_ms: int


class BeforeToolUseEvent(_Call):
    """A tool is about to be used."""


class PermissionRequestEvent(_Call):
    """A person is about to be asked about a call."""

    reason: str
    asked_by: str


class AfterToolUseEvent(_Call):
    """A tool call has ended, one way or another."""

    result: ToolResult
    blocked_by: NotRequired[str]


class ToolUseFailedEvent(_Call):
    """A tool has failed."""

    error: str
    reached: bool
    attempts: int
    duration_ms: int


class AfterStepEvent(_At):
    """A step has ended."""

    kind: StepKind
    text: str
    tools: list[str]
    usage: Usage
    duration_ms: int


class ShouldContinueEvent(_At):
    """The run is about to end or to continue."""

    kind: StepKind
    text: str
    stops: list[Stop]
    continuations: int


class OutputEvent(_At):
    """The run has its final answer, which has not left it yet."""

    text: str
    stop: Stop


# `class` is a keyword, so this one is written in the other form.
_OnError = TypedDict("_OnError", {"class": str, "message": str, "attempts": int, "wait": NotRequired[Duration]})


class OnErrorEvent(_At, _OnError):  # noqa: N818 - it is no exception
    """Something failed outside a tool."""


class ExecutionEndEvent(_At):
    """The run has ended."""

    status: RunStatus
    stop: Stop
    text: str
    steps: int
    usage: Usage
    duration_ms: int


class SessionEndEvent(_At):
    """The session ends."""

    usage: Usage
    total_tokens: int
    total_tool_calls: int
    runs: int
    steps: int
    duration_ms: int


class SubagentStartEvent(_At):
    """A child agent is about to begin."""

    subagent: str
    prompt: str
    limits: Limits
    metadata: dict[str, Any]


class SubagentStopEvent(_At):
    """A child agent has ended."""

    subagent: str
    status: RunStatus
    stop: Stop
    text: str
    usage: Usage
    steps: int


class _Compacting(_At):
    reason: str
    messages: int
    tokens: int
    instructions: str


class BeforeCompactEvent(_Compacting):
    """The conversation is about to be made shorter."""


class AfterCompactEvent(_Compacting):
    """The conversation has been made shorter."""


class NotificationEvent(_At):
    """Something a person may want to know."""

    kind: str
    message: str
    data: NotRequired[Any]
