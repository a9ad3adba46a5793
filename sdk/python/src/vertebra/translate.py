"""Between the wire and a `HookEngine`: events become payloads, answers become verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from .errors import VerdictError
from .payloads import (
    GenerateEndPayload,
    GenerateStartPayload,
    HookEventType,
    Payload,
    PostToolUsePayload,
    PreToolUsePayload,
    SessionEndPayload,
    SessionStartPayload,
    ToolOutcome,
)
from .points import POINTS, Point
from .response import HookResponse
from .words import known_args, known_tool, own_args, own_tool

Wire = Mapping[str, Any]

POINT_OF: dict[HookEventType, Point] = {
    HookEventType.PreToolUse: POINTS["BeforeToolUse"],
    HookEventType.PostToolUse: POINTS["AfterToolUse"],
    HookEventType.GenerateStart: POINTS["BeforeInference"],
    HookEventType.GenerateEnd: POINTS["AfterInference"],
    HookEventType.SessionStart: POINTS["SessionStart"],
    HookEventType.SessionEnd: POINTS["SessionEnd"],
}

CHANGES: dict[HookEventType, tuple[str, ...]] = {
    HookEventType.PostToolUse: ("success", "output", "exit_code", "duration_ms"),
    HookEventType.GenerateStart: ("prompt", "system_prompt", "model_provider", "model_name", "available_tools"),
    HookEventType.GenerateEnd: ("response_text", "tool_calls"),
    HookEventType.SessionStart: ("system_prompt",),
    HookEventType.SessionEnd: (),
}
"""What `modified` may name. At `PreToolUse` it is all arguments of the call."""


def payload_of(event_type: HookEventType, wire: Wire) -> Payload:
    """The payload that a hook sees of an event of the wire."""
    return _PAYLOADS[event_type](wire)


def verdict_for(hook_id: str, event_type: HookEventType, response: HookResponse, wire: Wire) -> dict[str, Any]:
    """The answer on the wire. `VerdictError` if the point can honour it in no way."""
    check(event_type, response)
    if response.action == "Block":
        word = "deny" if POINT_OF[event_type].honours("deny") else "stop"
        return {"verdict": word, "reason": reason_of(hook_id, response)}
    if response.action == "Retry":
        return {"verdict": "retry", "after_ms": response.retry_delay_ms}
    if response.action == "Skip":
        return {"verdict": "skip"}
    return _change(event_type, response.modified, wire) if response.modified is not None else {}


def reason_of(hook_id: str, response: HookResponse) -> str:
    """Why it was blocked; a reason can be left out."""
    return response.reason or f"`{hook_id}` blocked it"


def check(event_type: HookEventType, response: HookResponse) -> None:
    """Whether an event of this kind can take the answer. `VerdictError` if not: it is never ignored."""
    point = POINT_OF[event_type]
    if response.action == "Block" and not (point.honours("deny") or point.honours("stop")):
        raise VerdictError(f"{event_type.name} cannot be blocked: nothing can be refused there")
    if response.action == "Retry" and not point.honours("retry"):
        raise VerdictError(f"{event_type.name} cannot be retried: nothing is repeated there")
    allowed = CHANGES.get(event_type)
    if response.modified is None or allowed is None:
        return
    wrong = next((key for key in response.modified if key not in allowed), None)
    if wrong is not None or not allowed:
        what = f"what can be is {', '.join(allowed)}" if allowed else "nothing can be"
        raise VerdictError(f"`{wrong or 'modified'}` cannot be changed at {event_type.name}; {what}")


def _pre_tool_use(wire: Wire) -> PreToolUsePayload:
    folder = wire["working_directory"]
    return {
        "session_id": wire["session_id"],
        "tool": known_tool(wire["tool"]),
        "args": known_args(wire["tool"], wire["args"], folder),
        "working_directory": folder,
        "recent_tools": [known_tool(tool) for tool in wire.get("recent_tools", ())],
    }


def _post_tool_use(wire: Wire) -> PostToolUsePayload:
    result = wire["result"]
    outcome = ToolOutcome(success=result["success"], output=result["output"], duration_ms=result["duration_ms"])
    if result.get("exit_code") is not None:
        outcome["exit_code"] = result["exit_code"]
    return {
        "session_id": wire["session_id"],
        "tool": known_tool(wire["tool"]),
        "args": known_args(wire["tool"], wire["args"], wire["working_directory"]),
        "result": outcome,
    }


def _prompt(messages: list[Wire]) -> str:
    """What a person said last."""
    return next((message["text"] for message in reversed(messages) if message["role"] == "user"), "")


def _generate_start(wire: Wire) -> GenerateStartPayload:
    return {
        "session_id": wire["session_id"],
        "prompt": _prompt(wire["messages"]),
        "system_prompt": wire["system_prompt"],
        "model_provider": wire["model"]["provider"],
        "model_name": wire["model"]["name"],
        "available_tools": [known_tool(tool["name"]) for tool in wire["tools"]],
    }


def _generate_end(wire: Wire) -> GenerateEndPayload:
    response, usage, folder = wire["response"], wire["response"]["usage"], wire["working_directory"]
    read, written = usage["input_tokens"], usage["output_tokens"]
    return {
        "session_id": wire["session_id"],
        "prompt": _prompt(wire["request"]["messages"]),
        "response_text": response["text"],
        "tool_calls": [
            {"id": call["id"], "tool": known_tool(call["tool"]), "args": known_args(call["tool"], call["args"], folder)}
            for call in response["calls"]
        ],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
        "duration_ms": wire["duration_ms"],
    }


def _session_start(wire: Wire) -> SessionStartPayload:
    return {
        "session_id": wire["session_id"],
        "system_prompt": wire["system_prompt"],
        "model_provider": wire["model"]["provider"],
        "model_name": wire["model"]["name"],
    }


def _session_end(wire: Wire) -> SessionEndPayload:
    return {
        "session_id": wire["session_id"],
        "total_tokens": wire["total_tokens"],
        "total_tool_calls": wire["total_tool_calls"],
        "duration_ms": wire["duration_ms"],
    }


_PAYLOADS: dict[HookEventType, Callable[[Wire], Payload]] = {
    HookEventType.PreToolUse: _pre_tool_use,
    HookEventType.PostToolUse: _post_tool_use,
    HookEventType.GenerateStart: _generate_start,
    HookEventType.GenerateEnd: _generate_end,
    HookEventType.SessionStart: _session_start,
    HookEventType.SessionEnd: _session_end,
}


def _change(event_type: HookEventType, modified: dict[str, Any], wire: Wire) -> dict[str, Any]:
    match event_type:
        case HookEventType.PreToolUse:
            return {"modified": own_args(wire["tool"], modified, wire["args"], wire["working_directory"])}
        case HookEventType.PostToolUse:
            return {"patch": {"result": modified}}
        case HookEventType.GenerateStart:
            return {"set": _request(modified, wire)}
        case HookEventType.GenerateEnd:
            return {"patch": {"response": _answered(modified, wire)}}
        case HookEventType.SessionStart | HookEventType.SessionEnd:
            return {"set": modified}


def _request(modified: dict[str, Any], wire: Wire) -> dict[str, Any]:
    """Returns the fields of a request that a change of its payload sets."""
    fields: dict[str, Any] = {}
    if "system_prompt" in modified:
        fields["system_prompt"] = modified["system_prompt"]
    if "model_name" in modified or "model_provider" in modified:
        model = wire["model"]
        fields["model"] = {
            "provider": modified.get("model_provider", model["provider"]),
            "name": modified.get("model_name", model["name"]),
        }
    if "available_tools" in modified:
        wanted = [own_tool(name) for name in modified["available_tools"]]
        offers = {tool["name"]: tool for tool in wire["tools"]}
        unknown = next((name for name in wanted if name not in offers), None)
        if unknown is not None:
            raise VerdictError(f"unknown tool `{unknown}`: tools can be removed here, not added")
        fields["tools"] = [offers[name] for name in wanted]
    if "prompt" in modified:
        fields["messages"] = _rewritten(cast("list[dict[str, Any]]", wire["messages"]), modified["prompt"])
    return fields


def _answered(modified: dict[str, Any], wire: Wire) -> dict[str, Any]:
    """Returns the fields of a response that a change of its payload sets."""
    fields: dict[str, Any] = {}
    if "response_text" in modified:
        fields["text"] = modified["response_text"]
    if "tool_calls" in modified:
        before = {call["id"]: call["args"] for call in wire["response"]["calls"]}
        fields["calls"] = [
            {
                "id": call["id"],
                "tool": own_tool(call["tool"]),
                "args": own_args(
                    own_tool(call["tool"]), call["args"], before.get(call["id"], {}), wire["working_directory"]
                ),
            }
            for call in modified["tool_calls"]
        ]
    return fields


def _rewritten(messages: list[dict[str, Any]], prompt: str) -> list[dict[str, Any]]:
    """The conversation with another text in what a person said last."""
    last = next((number for number in reversed(range(len(messages))) if messages[number]["role"] == "user"), None)
    if last is None:
        return [*messages, {"role": "user", "text": prompt}]
    return [*messages[:last], {**messages[last], "text": prompt}, *messages[last + 1 :]]
