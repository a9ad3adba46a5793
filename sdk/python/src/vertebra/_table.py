"""The points of an agent's life. Generated from the runtime's table of points; do not edit."""

from .point import ARGS, Point

POINTS: dict[str, Point] = {
    point.name: point
    for point in (
        Point("SessionStart", ("deny",), opens=("system_prompt",), attributes=("session", "agent")),
        Point(
            "PromptSubmit",
            ("deny",),
            opens=("prompt", "context"),
            attributes=("session", "agent"),
            aliases=("UserPromptSubmit", "InputSubmitted"),
        ),
        Point("ExecutionStart", ("stop",), attributes=("session", "agent")),
        Point("BeforeStep", ("stop",), attributes=("session", "agent"), aliases=("StepStart",)),
        Point(
            "BeforeInference",
            ("deny", "replace", "retry", "stop"),
            opens=("model", "system_prompt", "messages", "tools", "max_output_tokens", "temperature", "options"),
            attributes=("session", "agent"),
            aliases=("GenerateStart",),
        ),
        Point("InferenceDelta", ("hold", "halt"), opens=("text",), attributes=("session", "agent")),
        Point(
            "AfterInference",
            ("retry", "stop"),
            opens=("response",),
            attributes=("session", "agent"),
            aliases=("GenerateEnd",),
        ),
        Point(
            "BeforeToolUse",
            ("allow", "ask", "deny", "replace", "retry", "stop"),
            opens=ARGS,
            attributes=("tool", "path", "command", "args", "session", "agent"),
            aliases=("PreToolUse",),
        ),
        Point(
            "PermissionRequest",
            ("allow", "deny"),
            attributes=("tool", "path", "command", "args", "session", "agent"),
        ),
        Point(
            "AfterToolUse",
            ("retry", "stop"),
            opens=("result",),
            attributes=("tool", "path", "command", "args", "session", "agent"),
            aliases=("PostToolUse",),
        ),
        Point(
            "ToolUseFailed",
            ("recover", "retry", "stop"),
            attributes=("tool", "path", "command", "args", "session", "agent"),
            aliases=("PostToolUseFailure",),
        ),
        Point("AfterStep", ("stop", "go_on"), attributes=("session", "agent", "step"), aliases=("StepEnd",)),
        Point("ShouldContinue", ("stop", "go_on"), attributes=("session", "agent", "step"), aliases=("Stop",)),
        Point("Output", ("deny",), opens=("text",), attributes=("session", "agent")),
        Point("OnError", ("recover", "stop"), attributes=("session", "agent"), aliases=("AgentFailed",)),
        Point("ExecutionEnd", guards=False, attributes=("session", "agent")),
        Point("SessionEnd", guards=False, attributes=("session", "agent")),
        Point("SubagentStart", ("deny",), opens=("prompt", "limits"), attributes=("session", "agent")),
        Point("SubagentStop", ("go_on",), opens=("text",), guards=False, attributes=("session", "agent")),
        Point(
            "BeforeCompact",
            ("deny",),
            opens=("instructions",),
            attributes=("session", "agent"),
            aliases=("PreCompact",),
        ),
        Point("AfterCompact", guards=False, attributes=("session", "agent"), aliases=("PostCompact",)),
        Point("Notification", guards=False, attributes=("session", "agent")),
    )
}
"""Every point by its name, in the order of an agent's life."""
