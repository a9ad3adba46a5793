"""Events of the wire as payloads, and answers back."""

from typing import Any

import pytest

from vertebra import HookEventType, HookResponse, VerdictError
from vertebra.translate import payload_of, verdict_for

AT = {"session_id": "s", "working_directory": "/workspace"}
WRITE = {**AT, "tool": "write_file", "args": {"path": "../etc/x", "content": "c"}, "recent_tools": ["bash"]}
BASH = {**AT, "tool": "bash", "args": {"command": "ls", "timeout_ms": 5}, "recent_tools": []}
MODEL = {"provider": "script", "name": "demo"}
SAID = [
    {"role": "user", "text": "hello", "images": [{"media_type": "image/png", "data": ""}]},
    {"role": "assistant", "text": "hi"},
    {"role": "instruction", "text": "be brief", "from": "x"},
]
OFFERS = [{"name": "bash", "description": "", "schema": {}}, {"name": "other", "description": "", "schema": {}}]
REQUEST = {"model": MODEL, "system_prompt": "be kind", "messages": SAID, "tools": OFFERS}
ASKED = {**AT, **REQUEST}
ANSWERED = {
    **AT,
    "request": REQUEST,
    "response": {
        "text": "ok",
        "calls": [{"id": "1", "tool": "read_file", "args": {"path": "a"}}],
        "usage": {"input_tokens": 7, "output_tokens": 2},
    },
    "duration_ms": 9,
}


def test_a_payload_has_the_names_that_policies_know():
    assert payload_of(HookEventType.PreToolUse, WRITE) == {
        "session_id": "s",
        "tool": "Write",
        "args": {"file_path": "/etc/x", "content": "c"},
        "working_directory": "/workspace",
        "recent_tools": ["Bash"],
    }
    result = {"status": "done", "success": True, "output": "o", "duration_ms": 3, "exit_code": 0, "data": {}}
    assert payload_of(HookEventType.PostToolUse, {**BASH, "result": result}) == {
        "session_id": "s",
        "tool": "Bash",
        "args": {"command": "ls", "timeout": 5},
        "result": {"success": True, "output": "o", "exit_code": 0, "duration_ms": 3},
    }
    assert payload_of(HookEventType.GenerateStart, ASKED) == {
        "session_id": "s",
        "prompt": "hello",
        "system_prompt": "be kind",
        "model_provider": "script",
        "model_name": "demo",
        "available_tools": ["Bash", "other"],
    }
    assert payload_of(HookEventType.GenerateEnd, ANSWERED) == {
        "session_id": "s",
        "prompt": "hello",
        "response_text": "ok",
        "tool_calls": [{"id": "1", "tool": "Read", "args": {"file_path": "/workspace/a"}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
        "duration_ms": 9,
    }
    ended = {**AT, "total_tokens": 1, "total_tool_calls": 2, "duration_ms": 3, "runs": 1}
    assert payload_of(HookEventType.SessionEnd, ended) == {
        "session_id": "s",
        "total_tokens": 1,
        "total_tool_calls": 2,
        "duration_ms": 3,
    }
    assert payload_of(HookEventType.SessionStart, {**AT, "system_prompt": "p", "model": MODEL}) == {
        "session_id": "s",
        "system_prompt": "p",
        "model_provider": "script",
        "model_name": "demo",
    }


@pytest.mark.parametrize(
    ("kind", "event", "response", "wire"),
    [
        ("PreToolUse", BASH, HookResponse(), {}),
        ("PreToolUse", BASH, HookResponse.block("no"), {"verdict": "deny", "reason": "no"}),
        ("PreToolUse", BASH, HookResponse("Block"), {"verdict": "deny", "reason": "`it` blocked it"}),
        ("GenerateStart", ASKED, HookResponse.block("no"), {"verdict": "deny", "reason": "no"}),
        ("PostToolUse", BASH, HookResponse.block("no"), {"verdict": "stop", "reason": "no"}),
        ("GenerateEnd", ANSWERED, HookResponse.block("no"), {"verdict": "stop", "reason": "no"}),
        ("GenerateStart", ASKED, HookResponse.retry(5000), {"verdict": "retry", "after_ms": 5000}),
        ("SessionStart", AT, HookResponse.skip(), {"verdict": "skip"}),
        ("SessionStart", AT, HookResponse.block("no"), {"verdict": "deny", "reason": "no"}),
        (
            "PreToolUse",
            BASH,
            HookResponse.continue_with({"command": "ls", "timeout": 30000}),
            {"modified": {"command": "ls", "timeout_ms": 30000}},
        ),
        (
            "PreToolUse",
            WRITE,
            HookResponse.continue_with({"file_path": "/etc/x", "content": "d"}),
            {"modified": {"path": "../etc/x", "content": "d"}},
        ),
        (
            "PreToolUse",
            WRITE,
            HookResponse.continue_with({"file_path": "/etc/y", "content": "c"}),
            {"modified": {"path": "/etc/y", "content": "c"}},
        ),
        ("PostToolUse", BASH, HookResponse.continue_with({"output": "x"}), {"patch": {"result": {"output": "x"}}}),
        (
            "GenerateEnd",
            ANSWERED,
            HookResponse.continue_with(
                {"response_text": "x", "tool_calls": [{"id": "1", "tool": "Read", "args": {"file_path": "/b"}}]}
            ),
            {"patch": {"response": {"text": "x", "calls": [{"id": "1", "tool": "read_file", "args": {"path": "/b"}}]}}},
        ),
        ("SessionStart", AT, HookResponse.continue_with({"system_prompt": "p"}), {"set": {"system_prompt": "p"}}),
        (
            "GenerateStart",
            ASKED,
            HookResponse.continue_with({"prompt": "bye", "available_tools": ["Bash"], "model_name": "other"}),
            {
                "set": {
                    "model": {"provider": "script", "name": "other"},
                    "tools": OFFERS[:1],
                    "messages": [{**SAID[0], "text": "bye"}, *SAID[1:]],
                }
            },
        ),
    ],
)
def test_an_answer_becomes_a_verdict_of_the_point(kind: str, event: Any, response: HookResponse, wire: Any):
    assert verdict_for("it", HookEventType[kind], response, event) == wire


def test_a_tool_that_was_not_offered_cannot_be_added():
    with pytest.raises(VerdictError, match="unknown tool `rm`"):
        verdict_for("it", HookEventType.GenerateStart, HookResponse.continue_with({"available_tools": ["rm"]}), ASKED)
