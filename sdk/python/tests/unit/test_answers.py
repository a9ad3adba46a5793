"""What handlers answer, on its way to the wire."""

import pytest

from vertebra import (
    POINTS,
    VerdictError,
    add_context,
    allow,
    ask,
    deny,
    go_on,
    halt,
    hold,
    modify,
    patch,
    point_named,
    proceed,
    recover,
    replace,
    retry,
    set_,
    skip,
    stop,
    tool_result,
)
from vertebra.answers import to_json, wire_answer
from vertebra.errors import PointError

DONE = {"status": "done", "success": True, "output": "cached", "duration_ms": 0}


@pytest.mark.parametrize(
    ("point", "answer", "wire"),
    [
        ("BeforeToolUse", None, {}),
        ("BeforeToolUse", proceed(), {}),
        ("BeforeToolUse", deny("no"), {"verdict": "deny", "reason": "no"}),
        ("BeforeToolUse", ask("may I?"), {"verdict": "ask", "reason": "may I?"}),
        ("BeforeToolUse", retry(1.5), {"verdict": "retry", "after_ms": 1500}),
        ("BeforeToolUse", replace("cached"), {"verdict": "replace", "with": DONE}),
        ("BeforeToolUse", replace(tool_result("cached")), {"verdict": "replace", "with": DONE}),
        ("BeforeInference", replace("cached"), {"verdict": "replace", "with": {"text": "cached"}}),
        ("ToolUseFailed", recover("cached"), {"verdict": "recover", "with": DONE}),
        ("OnError", recover("sorry"), {"verdict": "recover", "with": "sorry"}),
        ("ShouldContinue", go_on("test it"), {"verdict": "go_on", "instruction": "test it"}),
        ("InferenceDelta", hold(), {"verdict": "hold"}),
        ("InferenceDelta", halt("enough"), {"verdict": "halt", "reason": "enough"}),
        ("SessionEnd", skip(), {"verdict": "skip"}),
        ("BeforeToolUse", modify({"command": "ls"}), {"modified": {"command": "ls"}}),
        ("BeforeToolUse", allow().patch({"a": None}), {"verdict": "allow", "patch": {"a": None}}),
        ("SessionStart", set_(system_prompt="be kind"), {"set": {"system_prompt": "be kind"}}),
        ("SessionStart", deny("closed"), {"verdict": "deny", "reason": "closed"}),
        ("Output", deny("secret"), {"verdict": "deny", "reason": "secret"}),
        ("Output", set_(text="***"), {"set": {"text": "***"}}),
        ("AfterStep", add_context("a", "b"), {"context": ["a", "b"]}),
        (
            "AfterToolUse",
            stop("done").add_context("c").patch({"result": {"output": ""}}).leave({"seen": 1}),
            {
                "verdict": "stop",
                "reason": "done",
                "patch": {"result": {"output": ""}},
                "context": ["c"],
                "note": {"seen": 1},
            },
        ),
    ],
)
def test_an_answer_has_one_form_on_the_wire(point, answer, wire):
    assert wire_answer(POINTS[point], "hook", answer) == wire


@pytest.mark.parametrize(
    ("point", "role", "answer", "says"),
    [
        ("SessionEnd", "hook", deny("no"), "SessionEnd cannot honour `deny`"),
        ("AfterToolUse", "hook", deny("no"), "what it takes is `proceed(…)`, `skip(…)`, `retry(…)`, `stop(…)`"),
        ("BeforeToolUse", "guard", modify({}), "a guard decides and changes nothing"),
        ("BeforeToolUse", "guard", add_context("x"), "a guard decides and changes nothing"),
        ("BeforeToolUse", "watch", deny("no"), "a watch decides nothing"),
        ("ExecutionEnd", "hook", patch({"text": ""}), "nothing can be changed at ExecutionEnd"),
        ("PromptSubmit", "hook", set_(promt=""), "`promt` cannot be changed at PromptSubmit; what can be is prompt"),
        ("BeforeToolUse", "hook", True, "True is not an answer"),
        ("BeforeToolUse", "hook", {"verdict": "deny"}, "is not an answer: return `proceed(…)`"),
        ("OnError", "hook", recover(tool_result("x")), "a failure is made good by a text"),
    ],
)
def test_what_a_point_cannot_honour_is_an_error_that_says_what_it_can(point, role, answer, says):
    with pytest.raises(VerdictError) as error:
        wire_answer(POINTS[point], role, answer)
    assert says in str(error.value)


def test_what_is_not_json_is_an_error():
    with pytest.raises(VerdictError, match="not JSON"):
        to_json({"modified": {"command": object()}})
    with pytest.raises(VerdictError, match="not JSON"):
        to_json({"modified": {"limit": float("nan")}})


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("PreToolUse", "BeforeToolUse"),
        ("pre_tool_use", "BeforeToolUse"),
        ("before-tool-use", "BeforeToolUse"),
        ("generateEnd", "AfterInference"),
        ("Stop", "ShouldContinue"),
    ],
)
def test_every_spelling_of_a_point_is_understood(name, point):
    assert point_named(name).name == point


def test_a_point_that_is_not_there_is_told_with_the_nearest_one():
    with pytest.raises(PointError, match="unknown point `BeforeToolUze`; did you mean `BeforeToolUse`"):
        point_named("BeforeToolUze")
