"""An engine without a server: who runs, in which order, and what comes of it."""

import asyncio
import threading
import time
from typing import Any, cast

import pytest

from vertebra import (
    Hook,
    HookConfig,
    HookEngine,
    HookError,
    HookEvent,
    HookEventType,
    HookMatcher,
    HookResponse,
    PreToolUsePayload,
    VerdictError,
)
from vertebra.sync import HookEngine as SyncHookEngine


def call(tool: str = "Bash", **args: Any) -> HookEvent[PreToolUsePayload]:
    payload: PreToolUsePayload = {
        "session_id": "session-1",
        "tool": tool,
        "args": args,
        "working_directory": "/workspace",
        "recent_tools": [],
    }
    return HookEvent(HookEventType.PreToolUse, payload)


def used(output: str = "done") -> HookEvent[Any]:
    result = {"success": True, "output": output, "duration_ms": 3}
    payload = {"session_id": "session-1", "tool": "Bash", "args": {}, "result": result}
    return HookEvent(HookEventType.PostToolUse, payload)


def engine_of(*hooks: tuple[Hook, Any]) -> HookEngine:
    engine = HookEngine()
    for hook, handler in hooks:
        engine.register(hook)
        engine.register_handler(hook.id, handler)
    return engine


def pre(hook_id: str, **config: Any) -> Hook:
    return Hook.new(hook_id, HookEventType.PreToolUse).with_config(**config)


async def test_a_dangerous_command_is_blocked_and_others_are_not():
    engine = engine_of(
        (
            Hook.new("block-rm-rf", HookEventType.PreToolUse)
            .with_matcher(HookMatcher.command(r"rm\s+-rf"))
            .with_config(priority=1),
            lambda _: {"action": "Block", "reason": "Recursive force deletion is not allowed"},
        )
    )
    result = await engine.fire(call(command="rm  -rf build"))
    assert (result.action, result.reason, result.decided_by) == (
        "Block",
        "Recursive force deletion is not allowed",
        "block-rm-rf",
    )
    result = await engine.fire(call(command="ls"))
    assert (result.action, result.decided_by, result.ran) == ("Continue", None, [])


async def test_hooks_run_by_priority_then_as_they_were_registered():
    order: list[str] = []
    engine = HookEngine()
    for name, priority in [("log", 1000), ("first", 10), ("usual", None), ("usual-too", None)]:
        config = {} if priority is None else {"priority": priority}
        engine.register({"id": name, "event_type": "pre_tool_use", "config": config})
        engine.register_handler(name, lambda _, name=name: order.append(name))
    result = await engine.fire(call())
    assert order == ["first", "usual", "usual-too", "log"]
    assert [run.id for run in result.ran] == order


async def test_what_a_hook_changed_is_what_later_hooks_see_and_are_matched_by():
    seen: list[Any] = []
    engine = engine_of(
        (pre("rewrite", priority=1), lambda event: HookResponse.continue_with({"command": "git status"})),
        (pre("old").with_matcher(HookMatcher.command("^ls")), lambda event: seen.append("old")),
        (pre("new").with_matcher(HookMatcher.command("^git")), lambda event: seen.append(event.payload["args"])),
    )
    event = call(command="ls")
    result = await engine.fire(event)
    assert seen == [{"command": "git status"}]
    assert result.modified == {"command": "git status"}
    assert result.event.payload["args"] == {"command": "git status"}
    assert event.payload["args"] == {"command": "ls"}, "the event that was passed is as it was"


async def test_what_a_handler_does_to_its_event_changes_nothing():
    def scribble(event: HookEvent[PreToolUsePayload]) -> None:
        event.payload["args"]["command"] = "other"

    engine = engine_of((pre("scribble"), scribble))
    result = await engine.fire(call(command="ls"))
    assert result.event.payload["args"] == {"command": "ls"}
    assert result.modified is None


async def test_skip_spares_the_hooks_that_follow_and_retry_says_when():
    never: list[str] = []
    engine = engine_of(
        (pre("skips", priority=1), lambda _: HookResponse.skip()), (pre("later"), lambda _: never.append("ran"))
    )
    result = await engine.fire(call())
    assert (result.action, result.decided_by, never) == ("Skip", "skips", [])
    assert [(run.id, run.outcome) for run in result.ran] == [("skips", "answered"), ("later", "not_run")]
    engine = engine_of((pre("slow-down"), lambda _: {"action": "Retry", "retry_delay_ms": 5000}))
    result = await engine.fire(call())
    assert (result.action, result.retry_delay_ms, result.decided_by) == ("Retry", 5000, "slow-down")


async def test_handlers_may_be_functions_coroutines_and_objects():
    class Blocks:
        def handle(self, event: HookEvent[PreToolUsePayload]) -> HookResponse:
            return HookResponse.block(f"no {event.payload['tool']}")

    class BlocksLater:
        async def handle(self, event: HookEvent[PreToolUsePayload]) -> HookResponse:
            return HookResponse.block(f"no {event.payload['tool']}")

    async def blocks(event: HookEvent[PreToolUsePayload]) -> HookResponse:
        return HookResponse.block(f"no {event.payload['tool']}")

    for handler in (Blocks(), BlocksLater(), blocks, Blocks().handle):
        result = await engine_of((pre("it"), handler)).fire(call())
        assert (result.action, result.reason) == ("Block", "no Bash"), handler


async def test_a_plain_function_does_not_hold_up_the_loop():
    turns = 0
    stop = threading.Event()

    async def count() -> None:
        nonlocal turns
        while turns < 3:
            turns += 1
            await asyncio.sleep(0)
        stop.set()

    engine = engine_of((pre("waits"), lambda _: None if stop.wait(10) else {"action": "Block"}))
    _, result = await asyncio.gather(count(), engine.fire(call()))
    assert (turns, result.action) == (3, "Continue")


async def test_a_handler_that_fails_blocks_where_something_can_be_refused():
    def fails(_: HookEvent[Any]) -> None:
        raise RuntimeError("the policy is not there")

    result = await engine_of((pre("policy"), fails)).fire(call())
    assert result.blocked
    assert result.reason == "the hook `policy` failed: RuntimeError: the policy is not there"
    after = Hook.new("log", HookEventType.PostToolUse)
    result = await engine_of((after, fails)).fire(used())
    assert (result.action, result.ran[0].outcome) == ("Continue", "failed")


async def test_a_handler_that_is_late_has_failed():
    async def late(_: HookEvent[Any]) -> None:
        await asyncio.sleep(3600)

    result = await engine_of((pre("late", timeout_ms=20), late)).fire(call())
    assert (result.action, result.reason) == ("Block", "the hook `late` failed: it took longer than 20 ms")


async def test_a_handler_that_failed_is_tried_again_as_often_as_its_hook_says():
    tries: list[int] = []

    def second(_: HookEvent[Any]) -> None:
        tries.append(1)
        if len(tries) < 2:
            raise RuntimeError("not yet")

    result = await engine_of((pre("second", max_retries=1), second)).fire(call())
    assert (result.action, result.ran[0].attempts) == ("Continue", 2)
    tries.clear()
    result = await engine_of((pre("second"), second)).fire(call())
    assert (result.action, result.ran[0].attempts) == ("Block", 1)


async def test_nobody_waits_for_a_hook_with_async_execution_and_its_answer_does_not_count():
    seen: list[str] = []
    go = asyncio.Event()

    async def audit(event: HookEvent[Any]) -> HookResponse:
        await go.wait()
        seen.append(event.payload["tool"])
        return HookResponse.block("too late")

    engine = engine_of((pre("audit", async_execution=True), audit))
    result = await engine.fire(call())
    assert (result.action, result.ran[0].outcome, seen) == ("Continue", "detached", [])
    go.set()
    await engine.drain()
    assert seen == ["Bash"]


@pytest.mark.parametrize(
    ("kind", "payload", "answer", "says"),
    [
        ("SessionEnd", {"session_id": "s"}, {"action": "Block", "reason": "no"}, "SessionEnd cannot be blocked"),
        ("SessionEnd", {"session_id": "s"}, {"action": "Retry", "retry_delay_ms": 1}, "SessionEnd cannot be retried"),
        ("SessionEnd", {"session_id": "s"}, {"action": "Continue", "modified": {}}, "nothing can be"),
        (
            "GenerateEnd",
            {"session_id": "s"},
            {"action": "Continue", "modified": {"text": ""}},
            "`text` cannot be changed at GenerateEnd; what can be is response_text, tool_calls",
        ),
        ("PreToolUse", {}, {"action": "Blok"}, "unknown action `Blok`; did you mean `Block`?"),
        ("PreToolUse", {}, {"action": "Continue", "modifed": {}}, "a key `modifed`, which means nothing; did you mean"),
        ("PreToolUse", {}, {"reason": "x"}, "the answer has no `action`"),
        ("PreToolUse", {}, {"action": "Retry"}, "a Retry says when"),
        ("PreToolUse", {}, True, "True is not an answer"),
    ],
)
async def test_an_answer_that_cannot_be_honoured_is_an_error_and_never_ignored(kind, payload, answer, says):
    hook = Hook.new("it", HookEventType[kind])
    with pytest.raises(VerdictError) as error:
        await engine_of((hook, lambda _: answer)).fire(HookEvent(hook.event_type, payload))
    assert says in str(error.value)


async def test_a_result_and_a_prompt_can_be_rewritten():
    after = Hook.new("redact", HookEventType.PostToolUse)
    result = await engine_of((after, lambda _: HookResponse.continue_with({"output": "***"}))).fire(used("secret"))
    assert result.event.payload["result"] == {"success": True, "output": "***", "duration_ms": 3}
    start = Hook.new("system", HookEventType.GenerateStart)
    event = HookEvent(HookEventType.GenerateStart, {"session_id": "s", "prompt": "hello", "system_prompt": "a"})
    result = await engine_of((start, lambda _: HookResponse.continue_with({"system_prompt": "b"}))).fire(event)
    assert result.event.payload == {"session_id": "s", "prompt": "hello", "system_prompt": "b"}


async def test_hooks_and_handlers_come_and_go():
    engine = HookEngine()
    hook = pre("one", priority=7)
    engine.register(hook)
    assert (engine.hook_count(), engine.get_hook("one"), engine.all_hooks()) == (1, hook, [hook])
    result = await engine.fire(call())
    assert (result.action, result.ran[0].outcome) == ("Continue", "no_handler")
    engine.register_handler("one", lambda _: HookResponse.block("no"))
    assert (await engine.fire(call())).blocked
    engine.unregister_handler("one")
    assert not (await engine.fire(call())).blocked
    assert engine.unregister("one") == hook
    assert (engine.unregister("one"), engine.get_hook("one"), engine.hook_count()) == (None, None, 0)


def test_a_hook_is_written_as_calls_or_as_a_dictionary():
    made = Hook.new("x", HookEventType.PostToolUse).with_matcher(HookMatcher.tool("Bash")).with_config({"priority": 3})
    same = {"id": "x", "event_type": "PostToolUse", "matcher": {"tool": "Bash"}, "config": {"priority": 3}}
    assert made == Hook.from_dict(same)
    assert made.config == HookConfig(priority=3, timeout_ms=30_000, async_execution=False, max_retries=0)
    assert made.with_config(HookConfig(max_retries=2)).config.priority == 100


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Hook.new("x", "pre_tool_usee"), "unknown event type `pre_tool_usee`; did you mean `pre_tool_use`"),
        (lambda: pre("x", priorty=1), "a configuration has no `priorty`; did you mean `priority`"),
        (lambda: pre("x", timeout_ms=0), "`timeout_ms` is more than 0"),
        (lambda: Hook.from_dict({"id": "x"}), "a hook has an `id` and an `event_type`"),
        (lambda: HookEngine().register_handler("x", cast("Any", 5)), "5 is not a handler"),
    ],
)
def test_a_slip_of_the_pen_is_an_error_that_says_what_was_meant(make, says):
    with pytest.raises(HookError) as error:
        make()
    assert says in str(error.value)


def test_without_async_it_is_the_same():
    seen: list[str] = []
    engine = SyncHookEngine()
    engine.register(pre("audit", async_execution=True))
    engine.register_handler("audit", lambda event: seen.append(event.payload["tool"]))
    engine.register(pre("no"))
    engine.register_handler("no", lambda _: HookResponse.block("no"))
    result = engine.fire(call())
    assert (result.action, seen) == ("Block", ["Bash"])


async def test_how_long_a_hook_took_is_told():
    result = await engine_of((pre("naps"), lambda _: time.sleep(0.02))).fire(call())
    assert result.ran[0].duration_ms >= 20
