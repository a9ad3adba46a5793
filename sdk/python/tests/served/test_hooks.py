"""Guards, hooks and watches that live here and govern an agent in a server."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from vertebra import (
    AccessError,
    AfterInferenceEvent,
    AfterToolUseEvent,
    AnswerEnd,
    BeforeInferenceEvent,
    BeforeToolUseEvent,
    Client,
    InferenceDeltaEvent,
    Matcher,
    OutputEvent,
    PointError,
    PromptSubmitEvent,
    RegistrationError,
    SessionStartEvent,
    ShouldContinueEvent,
    ToolUseFailedEvent,
    add_context,
    allow,
    ask,
    deny,
    exists,
    go_on,
    halt,
    modify,
    patch,
    recover,
    replace,
    retry,
    set_,
    stop,
    tool_result,
)

from .conftest import Serve
from .turns import bash, ended, is_named, say

BYPASS = ("--mode", "bypass")


async def test_a_guard_decides_and_the_model_reads_why(serve: Serve):
    served = serve(bash("git push --force"), {"expect": "force is for humans", "say": "I see"}, options=BYPASS)
    async with serve.client(served) as client:

        @client.guard("BeforeToolUse", tool="bash")
        async def no_force(event: BeforeToolUseEvent):
            return deny("force is for humans") if "--force" in event["args"]["command"] else None

        session = await client.sessions.create()
        run = session.prompt("push")
        (result,) = await ended(run)
        assert (result["status"], result["success"]) == ("blocked", False)
        assert result["output"].startswith("blocked by ")
        assert result["output"].endswith("no_force: force is for humans")
        assert await run.text() == "I see"


async def test_the_server_matches_each_command_of_a_line(serve: Serve):
    served = serve(bash("true && git status"), bash("echo git"), say("done"), options=BYPASS)
    seen: list[str] = []
    async with serve.client(served) as client:

        @client.watch("BeforeToolUse", command="^git ")
        async def git(event: BeforeToolUseEvent) -> None:
            seen.append(event["args"]["command"])

        session = await client.sessions.create()
        await session.prompt("go").result()
    assert seen == ["true && git status"]


async def test_matchers_are_combined_on_the_server(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        seen: list[str] = []

        @client.on(
            "BeforeToolUse",
            tool=["bash", "write_*"],
            args={"/flag": exists()},
            match=~Matcher(args={"/mode": "dry"}) & (Matcher(path="*.rs") | Matcher(command="cargo")),
        )
        def combined(event: BeforeToolUseEvent) -> None:
            seen.append(event["call_id"])

        cases: dict[str, dict[str, Any]] = {
            "all of it": {"tool": "bash", "args": {"flag": True, "command": "cargo test"}},
            "a path": {"tool": "write_file", "args": {"flag": 0, "path": "src/a.rs"}},
            "no flag": {"tool": "bash", "args": {"command": "cargo test"}},
            "dry": {"tool": "bash", "args": {"flag": True, "mode": "dry", "command": "cargo test"}},
            "neither": {"tool": "bash", "args": {"flag": True, "command": "ls"}},
            "another tool": {"tool": "grep", "args": {"flag": True, "path": "a.rs"}},
        }
        for name, event in cases.items():
            await client.fire({"point": "BeforeToolUse", "call_id": name, **event})
    assert seen == ["all of it", "a path"]


async def test_hooks_change_what_happens_in_their_order(serve: Serve):
    served = serve(bash("echo one"), say("done"), options=BYPASS)
    async with serve.client(served) as client:

        @client.on("BeforeToolUse", name="second", priority=50)
        async def second(event: BeforeToolUseEvent):
            return set_(command=event["args"]["command"] + " two")

        @client.on("BeforeToolUse", name="third", after="second", priority=1)
        def third(event: BeforeToolUseEvent):
            return patch({"description": None, "command": event["args"]["command"] + " three"})

        @client.on("BeforeToolUse", name="first", before="second", priority=900)
        async def first(event: BeforeToolUseEvent):
            return modify({"command": "echo 1", "description": "counts"})

        session = await client.sessions.create()
        (result,) = await ended(session.prompt("go"))
    assert "1 two three" in result["output"]


async def test_a_result_is_put_in_place_of_a_call_and_of_an_answer(serve: Serve):
    served = serve(bash("echo real"), options=BYPASS)
    async with serve.client(served) as client:

        @client.on("BeforeToolUse", tool="bash")
        async def cached(event: BeforeToolUseEvent):
            return replace(tool_result("from the cache", exit_code=0))

        @client.on("BeforeInference")
        async def answered(event: BeforeInferenceEvent):
            return replace("no model was asked") if event["step"] == 2 else None

        session = await client.sessions.create()
        run = session.prompt("go")
        (result,) = await ended(run)
        assert (result["output"], result.get("exit_code")) == ("from the cache", 0)
        assert await run.text() == "no model was asked"


async def test_a_result_is_rewritten_and_a_failure_made_good(serve: Serve):
    nowhere = {"call": {"tool": "read_file", "args": {"path": "nowhere.txt"}}}
    served = serve(bash("echo secret"), nowhere, say("done"), options=BYPASS)
    async with serve.client(served) as client:

        @client.on("AfterToolUse", tool="bash")
        async def redact(event: AfterToolUseEvent):
            return patch({"result": {"output": event["result"]["output"].replace("secret", "***")}})

        @client.on("ToolUseFailed", tool="read_file")
        def empty(event: ToolUseFailedEvent):
            assert event["reached"]
            return recover("(empty)")

        session = await client.sessions.create()
        shown, made_good = await ended(session.prompt("go"))
    assert "***" in shown["output"]
    assert "secret" not in shown["output"]
    assert (made_good["success"], made_good["output"]) == (True, "(empty)")


async def test_a_session_is_denied_and_the_caller_reads_why(serve: Serve):
    served = serve(say("not reached"))
    async with serve.client(served) as client:

        @client.guard("SessionStart", name="office-hours")
        async def closed(event: SessionStartEvent):
            return deny("come back on Monday")

        with pytest.raises(AccessError, match="the session was denied by office-hours: come back on Monday"):
            await client.sessions.create()
        assert await client.sessions.list() == []


async def test_what_leaves_a_run_is_denied_or_changed_in_the_stream_too(serve: Serve):
    served = serve({"stream": ["the code ", "is SECRET"]}, {"stream": ["my ", "PASSWORD"]})
    async with serve.client(served) as client:

        @client.on("Output")
        async def redacted(event: OutputEvent):
            return set_(text=event["text"].replace("SECRET", "***"))

        @client.guard("Output", name="no-passwords")
        async def no_passwords(event: OutputEvent):
            return deny("it names a password") if "PASSWORD" in event["text"] else None

        session = await client.sessions.create()
        run = session.prompt("go")
        assert [news["text"] async for news in run if news["event"] == "delta"] == ["the code is ***"]
        assert await run.text() == "the code is ***"
        run = session.prompt("go")
        assert [news["text"] async for news in run if news["event"] == "delta"] == []
        report = await run.result()
        assert (report["status"], report["text"]) == ("stopped", "")
        assert report["stop"]["message"] == "the output was denied: it names a password"
        assert report["stop"]["source"] == "no-passwords"


async def test_the_last_piece_says_how_the_answer_ended(serve: Serve):
    served = serve({"stream": ["one ", "two"]}, bash("echo"), say("not reached"), options=BYPASS)
    ends: list[AnswerEnd] = []
    async with serve.client(served) as client:

        @client.on("InferenceDelta", name="no-tools")
        async def no_tools(event: InferenceDeltaEvent):
            end = event.get("end")
            if end is None:
                return None
            ends.append(end)
            return halt("no tools today") if end.get("calls") else None

        session = await client.sessions.create()
        assert await session.prompt("go").text() == "one two"
        report = await session.prompt("go").result()
        assert report["stop"]["message"] == "no tools today"
    assert [end["how"] for end in ends] == ["finished", "finished"]
    assert [call["tool"] for call in ends[1].get("calls", [])] == ["bash"]


async def test_prompts_requests_answers_and_streams_are_changed(serve: Serve):
    served = serve({"expect": "please count", "stream": ["one ", "two"]}, say("not reached"))
    systems: list[str] = []
    async with serve.client(served) as client:

        @client.on("SessionStart")
        def kind(event: SessionStartEvent):
            return set_(system_prompt=event["system_prompt"] + "\nBe kind.")

        @client.on("PromptSubmit")
        async def polite(event: PromptSubmitEvent):
            return set_(prompt=f"please {event['prompt']}").add_context("It is Monday.")

        @client.on("BeforeInference")
        async def looks(event: BeforeInferenceEvent):
            systems.append(event["system_prompt"])
            assert any("It is Monday." in message.get("text", "") for message in event["messages"])

        @client.on("InferenceDelta")
        async def loud(event: InferenceDeltaEvent):
            return set_(text=event["text"].upper())

        @client.on("AfterInference")
        async def signed(event: AfterInferenceEvent):
            return patch({"response": {"text": event["response"]["text"] + " (checked)"}})

        session = await client.sessions.create()
        run = session.prompt("count")
        said = [news["text"] async for news in run if news["event"] == "delta"]
        assert "".join(said) == "ONE TWO"
        assert (await run.text()).endswith("(checked)")
    assert systems[0].endswith("Be kind.")


async def test_a_run_is_stopped_and_made_to_go_on(serve: Serve):
    served = serve(say("finished"), {"expect": "run the tests", "say": "they pass"}, bash("echo a"), say("not reached"))
    async with serve.client(served) as client:

        @client.on("ShouldContinue", step="final_response")
        async def tests(event: ShouldContinueEvent):
            return go_on("run the tests") if event["text"] == "finished" else None

        session = await client.sessions.create()
        assert await session.prompt("go").text() == "they pass"

        @client.on("BeforeToolUse")
        async def enough(event: BeforeToolUseEvent):
            return stop("that is enough")

        report = await session.prompt("again").result()
    assert (report["status"], report["stop"]["message"]) == ("stopped", "that is enough")
    assert is_named(report["stop"]["source"], "enough")


async def test_a_call_is_tried_again_after_a_while(serve: Serve):
    served = serve(bash("echo x >> tries; test $(wc -l < tries) -ge 3"), say("done"), options=BYPASS)
    async with serve.client(served) as client:

        @client.on("AfterToolUse", tool="bash")
        async def again(event: AfterToolUseEvent):
            return None if event["result"]["success"] else retry(0.01)

        session = await client.sessions.create()
        results = await ended(session.prompt("go"))
    assert results[-1]["success"]
    assert (served.folder / "tries").read_text() == "x\n" * 3


async def test_a_guard_that_raises_or_answers_nonsense_has_failed_and_refuses(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        answers: list[Any] = [None]

        @client.guard("BeforeToolUse", name="odd")
        def odd(event: BeforeToolUseEvent) -> None:
            if isinstance(answers[0], Exception):
                raise answers[0]
            return answers[0]

        @client.guard("AfterToolUse", name="late")
        def late(event: AfterToolUseEvent) -> None:
            return answers[0]

        event: dict[str, Any] = {"point": "BeforeToolUse", "tool": "bash", "args": {"command": "ls"}}
        assert (await client.fire(event)).judgement["decision"] is None
        for answer, says in [
            (RuntimeError("the policy is not there"), "the policy is not there"),
            (True, "True is not an answer"),
            (go_on("x"), "BeforeToolUse cannot honour `go_on`"),
            (modify({}), "a guard decides and changes nothing"),
        ]:
            answers[0] = answer
            fired = await client.fire(event)
            assert fired.judgement["decision"] == "deny", answer
            (ran,) = fired.record["hooks"]
            assert ran["ran"]["ran"] == "failed"
            assert says in json.dumps(ran, ensure_ascii=False)
        answers[0] = deny("too late")
        fired = await client.fire({"point": "AfterToolUse", "tool": "bash"})
        assert "AfterToolUse cannot honour `deny`" in json.dumps(fired.record, ensure_ascii=False)


async def test_a_command_that_is_too_complex_to_judge_is_denied(serve: Serve):
    async with serve.client(serve(say("x"))) as client:

        @client.guard("BeforeToolUse", tool="bash", command="^frobnicate", name="no")
        def no(event: BeforeToolUseEvent):
            return deny("x")

        line = "; ".join(f"echo {{a,b}} {number}" for number in range(1200))
        fired = await client.fire({"point": "BeforeToolUse", "tool": "bash", "args": {"command": line}})
        assert fired.judgement["decision"] == "deny"
        assert "too complex to judge" in (fired.judgement["reason"] or "")


async def test_what_a_failure_counts_as_is_the_hooks_own_choice(serve: Serve):
    async with serve.client(serve(say("x"))) as client:

        @client.on("BeforeToolUse", tool="a", on_failure="open")
        def opens(event: BeforeToolUseEvent) -> None:
            raise RuntimeError("no")

        @client.on("BeforeToolUse", tool="b", on_failure="ask")
        def asks(event: BeforeToolUseEvent) -> None:
            raise RuntimeError("no")

        @client.on("BeforeToolUse", tool="c")
        def usual(event: BeforeToolUseEvent) -> None:
            raise RuntimeError("no")

        decisions = [
            (await client.fire({"point": "BeforeToolUse", "tool": tool})).judgement["decision"] for tool in "abc"
        ]
    assert decisions == [None, "ask", "deny"]


async def test_a_hook_that_is_late_is_not_waited_for(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        cancelled = asyncio.Event()

        @client.guard("BeforeToolUse", timeout=0.1)
        async def late(event: BeforeToolUseEvent) -> None:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        fired = await client.fire({"point": "BeforeToolUse", "tool": "bash"})
        assert fired.judgement["decision"] == "deny"
        await asyncio.wait_for(cancelled.wait(), 10)


async def test_a_hook_that_failed_is_asked_again(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        tries: list[int] = []

        @client.guard("BeforeToolUse", max_retries=2)
        def third_time(event: BeforeToolUseEvent) -> None:
            tries.append(1)
            if len(tries) < 3:
                raise RuntimeError("not yet")

        fired = await client.fire({"point": "BeforeToolUse", "tool": "bash"})
    assert (fired.judgement["decision"], len(tries)) == (None, 3)


async def test_a_shadow_decides_nothing_and_is_recorded(serve: Serve):
    async with serve.client(serve(say("x"))) as client:

        @client.guard("BeforeToolUse", shadow=True)
        def would(event: BeforeToolUseEvent):
            return deny("one day")

        fired = await client.fire({"point": "BeforeToolUse", "tool": "bash"})
    assert fired.judgement["decision"] is None
    (ran,) = fired.record["hooks"]
    assert (ran["shadow"], ran["ran"]["verdict"], ran["ran"]["reason"]) == (True, "deny", "one day")


async def test_deny_beats_ask_beats_allow(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        answers = {"a": allow(), "b": ask("may I?"), "c": deny("no")}

        def judge(event: BeforeToolUseEvent, name: str):
            return answers[name] if name in event["args"]["who"] else None

        for name in answers:
            client.guard("BeforeToolUse", name=name)(lambda event, name=name: judge(event, name))

        async def decided(who: str) -> str | None:
            event = {"point": "BeforeToolUse", "tool": "bash", "args": {"who": who}}
            return (await client.fire(event)).judgement["decision"]

        assert [await decided(who) for who in ("", "a", "ab", "abc", "ac")] == [None, "allow", "ask", "deny", "deny"]


async def test_a_stream_is_halted(serve: Serve):
    served = serve({"stream": ["all is well ", "and then the password is ", "hunter2"]})
    async with serve.client(served) as client:

        @client.guard("InferenceDelta")
        async def quiet(event: InferenceDeltaEvent):
            return halt("no passwords") if "password" in event["text"] else None

        session = await client.sessions.create()
        said = [news["text"] async for news in session.prompt("go") if news["event"] == "delta"]
    assert "password" not in "".join(said)


async def test_the_model_is_told_something_besides(serve: Serve):
    served = serve(bash("echo a"), {"expect": "prefer cargo nextest", "say": "done"}, options=BYPASS)
    async with serve.client(served) as client:

        @client.on("AfterToolUse")
        async def hint(event: AfterToolUseEvent):
            return add_context("prefer cargo nextest")

        session = await client.sessions.create()
        assert await session.prompt("go").text() == "done"


async def test_a_hook_governs_the_sessions_of_its_scope(serve: Serve):
    served = serve(say("a"), say("b"))
    seen: list[str] = []
    async with serve.client(served) as client:
        one, other = await client.sessions.create(), await client.sessions.create()

        @client.watch("PromptSubmit", scope=one)
        async def only_one(event: PromptSubmitEvent) -> None:
            seen.append(event["session_id"])

        await other.prompt("hello").result()
        await one.prompt("hello").result()
        assert seen == [one.id]
        assert any(is_named(hook.name, "only_one") for hook in await client.hooks(one.id))
        assert not any(is_named(hook.name, "only_one") for hook in await client.hooks(other.id))


async def test_a_hook_comes_and_goes_between_two_dispatches(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        event = {"point": "BeforeToolUse", "tool": "bash"}

        def no(event: BeforeToolUseEvent):
            return deny("no")

        client.guard("BeforeToolUse", name="no")(no)
        assert (await client.fire(event)).judgement["decision"] == "deny"
        assert await client.unregister("no")
        assert (await client.fire(event)).judgement["decision"] is None
        assert not await client.unregister("no")
        client.guard("BeforeToolUse", name="no")(no)
        assert (await client.fire(event)).judgement["decision"] == "deny"


async def test_a_hook_that_the_server_refuses_is_an_error_until_it_is_taken_away(serve: Serve):
    async with serve.client(serve(say("x"))) as client:

        @client.guard("BeforeToolUse", command="rm (")
        def broken(event: BeforeToolUseEvent) -> None: ...

        for _ in range(2):
            with pytest.raises(RegistrationError, match=r"the hook `broken` is not in force: .*rm \("):
                await client.sessions.create()
        await client.unregister("broken")
        await client.sessions.create()


async def test_what_cannot_stand_somewhere_is_an_error_at_the_call(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        anything: Any = client

        def some_hook(event: Any) -> None: ...

        with pytest.raises(PointError, match="a guard is not possible at SessionEnd"):
            anything.guard("SessionEnd")(some_hook)
        with pytest.raises(PointError, match="did you mean `BeforeToolUse`"):
            anything.guard("BeforeToolUze")(some_hook)
        with pytest.raises(ValueError, match="a guard at PromptSubmit has no option `tool`"):
            anything.guard("PromptSubmit", tool="bash")(some_hook)
        with pytest.raises(ValueError, match="a watch at BeforeToolUse has no option `shadow`"):
            anything.watch("BeforeToolUse", shadow=True)(some_hook)
        with pytest.raises(ValueError, match="a lambda has no name"):
            client.watch("BeforeToolUse")(lambda _: None)
        client.watch("SessionEnd", name="twice")(some_hook)
        with pytest.raises(RegistrationError, match="there is a hook `twice` already"):
            client.watch("SessionEnd", name="twice")(some_hook)


async def test_many_events_are_answered_at_the_same_time(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        together = threading.Barrier(8)

        @client.on("BeforeToolUse")
        def waits_for_the_others(event: BeforeToolUseEvent):
            together.wait(10)
            return set_(thread=threading.current_thread().name)

        fired = await asyncio.gather(
            *(client.fire({"point": "BeforeToolUse", "tool": "bash", "args": {"n": n}}) for n in range(8))
        )
    inputs = [one.judgement["tool_input"] or {} for one in fired]
    assert [given["n"] for given in inputs] == list(range(8))
    assert len({given["thread"] for given in inputs}) == 8


async def test_a_plain_function_does_not_hold_up_the_loop(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        loop, at_work, may_end = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        @client.guard("BeforeToolUse")
        def slow(event: BeforeToolUseEvent) -> None:
            loop.call_soon_threadsafe(at_work.set)
            # Only the loop can end this.
            assert may_end.wait(10)

        fired = asyncio.create_task(client.fire({"point": "BeforeToolUse", "tool": "bash"}))
        await at_work.wait()
        may_end.set()
        assert (await fired).judgement["decision"] is None


async def test_a_detached_watch_holds_up_nothing(serve: Serve):
    served = serve(say("done"))
    async with serve.client(served) as client:
        may_end, seen = asyncio.Event(), asyncio.Event()

        @client.watch("PromptSubmit", detached=True)
        async def slow(event: PromptSubmitEvent) -> None:
            await may_end.wait()
            seen.set()

        session = await client.sessions.create()
        began = time.monotonic()
        assert await session.prompt("hello").text() == "done"
        assert time.monotonic() - began < 30, "it would have been waited for"
        assert not seen.is_set()
        may_end.set()
        await asyncio.wait_for(seen.wait(), 10)


async def test_hooks_may_be_written_before_the_client_is_opened(serve: Serve):
    served = serve(say("x"))
    client: Client = serve.client(served)

    @client.guard("PreToolUse")
    async def no(event: BeforeToolUseEvent):
        return deny("no")

    async with client:
        assert is_named((await client.fire({"point": "PreToolUse", "tool": "x"})).judgement["decided_by"], "no")
        (hook,) = await client.hooks()
        assert (hook.role, hook.point, hook.client_id) == ("guard", "BeforeToolUse", client.client_id)
        assert is_named(hook.name, "no")


async def test_an_answer_that_is_too_large_is_a_failure_that_says_so(serve: Serve):
    async with serve.client(serve(say("x"))) as client:

        @client.on("BeforeToolUse")
        def large(event: BeforeToolUseEvent):
            return set_(text="x" * 2_000_000)

        fired = await client.fire({"point": "BeforeToolUse", "tool": "bash"})
    assert fired.judgement["decision"] == "deny"
    assert "the answer has 2000" in json.dumps(fired.record)
