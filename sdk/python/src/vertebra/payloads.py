"""What a hook of a `HookEngine` sees: six events, each with its payload."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Generic

from typing_extensions import NotRequired, TypedDict, TypeVar


class HookEventType(str, enum.Enum):
    """When a hook of a `HookEngine` runs."""

    PreToolUse = "pre_tool_use"
    PostToolUse = "post_tool_use"
    GenerateStart = "generate_start"
    GenerateEnd = "generate_end"
    SessionStart = "session_start"
    SessionEnd = "session_end"


class PreToolUsePayload(TypedDict):
    """Before a tool is used."""

    session_id: str
    tool: str
    args: dict[str, Any]
    working_directory: str
    recent_tools: list[str]


class ToolOutcome(TypedDict):
    """What came of a tool call."""

    success: bool
    output: str
    exit_code: NotRequired[int]
    duration_ms: int


class PostToolUsePayload(TypedDict):
    """After a tool was used."""

    session_id: str
    tool: str
    args: dict[str, Any]
    result: ToolOutcome


class GenerateStartPayload(TypedDict):
    """Before a model is asked."""

    session_id: str
    prompt: str
    system_prompt: NotRequired[str]
    model_provider: str
    model_name: str
    available_tools: list[str]


class ToolCallInfo(TypedDict):
    """A tool call that the model asked for."""

    id: str
    tool: str
    args: dict[str, Any]


class TokenUsage(TypedDict):
    """What a model call cost."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class GenerateEndPayload(TypedDict):
    """After a model has answered."""

    session_id: str
    prompt: str
    response_text: str
    tool_calls: list[ToolCallInfo]
    usage: TokenUsage
    duration_ms: int


class SessionStartPayload(TypedDict):
    """A session begins."""

    session_id: str
    system_prompt: NotRequired[str]
    model_provider: str
    model_name: str


class SessionEndPayload(TypedDict):
    """A session ends."""

    session_id: str
    total_tokens: int
    total_tool_calls: int
    duration_ms: int


Payload = (
    PreToolUsePayload
    | PostToolUsePayload
    | GenerateStartPayload
    | GenerateEndPayload
    | SessionStartPayload
    | SessionEndPayload
)

P_co = TypeVar("P_co", covariant=True, default=Any)


@dataclass(frozen=True)
class HookEvent(Generic[P_co]):
    """An event: its kind, and its payload as a typed dictionary."""

    event_type: HookEventType
    payload: P_co
