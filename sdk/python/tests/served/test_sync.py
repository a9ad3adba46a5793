"""The same without `async`."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

import pytest

from vertebra import (
    Approval,
    BeforeToolUseEvent,
    Hook,
    HookError,
    HookEvent,
    HookEventType,
    HookMatcher,
    HookResponse,
    PreToolUsePayload,
    RegistrationError,
    RunFailed,
    VertebraError,
    approve,
    ask,
    deny,
    sync,
)

from .attempts import attempts
from .conftest import Serve
from .server import PATIENCE, Served
from .turns import bash, is_named, say

BYPASS = ("--mode", "bypass")

Connected = Callable[[Served], sync.Client]


@pytest.fixture
def connected(serve: Serve, transport: str) -> Connected:
    def connect(served: Served) -> sync.Client:
        address, token = served.address(transport)
        return sync.connect(address, token=token)

    return connect


def test_hooks_sessions_and_records(serve: Serve, connected: Connected):
    served = serve(bash("git push --force"), say("I see"), options=BYPASS)
    with connected(served) as client:

        @client.guard("BeforeToolUse", tool="bash")
        def no_force(event: BeforeToolUseEvent):
            return deny("force is for humans") if "--force" in event["args"]["command"] else None

        @client.on("BeforeToolUse")
        async def on_the_loop(event: BeforeToolUseEvent) -> None:
            assert threading.current_thread().name == "vertebra-loop"

        session = client.sessions.create(labels={"team": "a"})
        run = session.prompt("push")
        for news in run:
            if news["event"] == "step":
                break
        # What was not looked at is still there.
        results = [news["result"] for news in run if news["event"] == "tool_ended"]
        assert [result["status"] for result in results] == ["blocked"]
        assert results[0]["output"].endswith("no_force: force is for humans")
        assert run.text() == "I see"
        assert run.result()["status"] == "completed"
        told = [news["number"] for news, _ in zip(session.events(after=2), range(3), strict=False)]
        assert told == [3, 4, 5]
        assert session.refresh().status == "idle"
        assert [found.id for found in client.sessions.list(labels={"team": "a"})] == [session.id]
        assert client.sessions.get(session.id).id == session.id
        assert [line.kind for line in client.records(session.id, kinds=["run_ended"])] == ["run_ended"]
        assert {hook.name.rsplit("/")[-1] for hook in client.hooks()} == {"no_force", "on_the_loop"}
        fired = client.fire({"point": "BeforeToolUse", "tool": "bash", "args": {"command": "--force"}})
        assert is_named(fired.judgement["decided_by"], "no_force")
        assert client.unregister("no_force")
        assert not session.cancel()
        with pytest.raises(RunFailed):
            session.prompt("again").result()
        assert session.close()["runs"] == 2


def test_a_hook_that_the_server_refuses_is_an_error_of_its_decorator(serve: Serve, connected: Connected):
    with connected(serve(say("x"))) as client:

        def broken(event: BeforeToolUseEvent) -> None: ...

        with pytest.raises(RegistrationError, match=r"rm \("):
            client.guard("BeforeToolUse", command="rm (")(broken)
        # It is as if it had never been.
        client.guard("BeforeToolUse", command="rm")(broken)
        client.sessions.create()


def test_questions_are_answered(serve: Serve, connected: Connected):
    served = serve(bash("echo a"), say("done"), options=BYPASS)
    with connected(served) as client:

        @client.guard("BeforeToolUse")
        def careful(event: BeforeToolUseEvent):
            return ask("is that wise?")

        session = client.sessions.create()
        texts: list[str] = []
        running = threading.Thread(target=lambda: texts.append(session.prompt("go").text()))
        running.start()
        for question in client.approvals.watch(session.id):
            assert isinstance(question, Approval)
            assert client.approvals.list(session.id) == [question]
            assert client.approvals.answer(question, approve())
            break
        running.join()
        assert texts == ["done"]


def test_an_engine_follows_its_changes(serve: Serve, connected: Connected):
    event = {"point": "BeforeToolUse", "tool": "bash", "args": {"command": "rm -r x"}}
    engine = sync.HookEngine()
    engine.register(Hook.new("no-rm", HookEventType.PreToolUse).with_matcher(HookMatcher.command("^rm")))
    with connected(serve(say("x"))) as client:
        engine.connect(client)
        assert client.hooks() == []
        engine.register_handler("no-rm", lambda event: HookResponse.block(f"no {event.payload['args']['command']}"))
        assert client.fire(event).judgement["reason"] == "no rm -r x"
        engine.register_handler("no-rm", lambda event: HookResponse.block("another reason"))
        assert client.fire(event).judgement["reason"] == "another reason"
        engine.register(Hook.new("no-rm", HookEventType.PreToolUse).with_matcher(HookMatcher.command("^ls")))
        assert client.fire(event).judgement["decision"] is None
        engine.register(Hook.new("no-rm", HookEventType.PreToolUse))
        assert client.fire(event).judgement["decision"] == "deny"
        engine.unregister_handler("no-rm")
        assert client.fire(event).judgement["decision"] is None
        assert engine.unregister("no-rm") is not None
        assert client.hooks() == []


def test_a_client_can_be_used_after_another_was_closed(serve: Serve, connected: Connected):
    # The script begins anew with each session.
    served = serve(say("one"))
    texts: list[str] = []
    for _ in range(2):
        with connected(served) as client:
            texts.append(client.sessions.create().prompt("go").text())
        client.close()
    assert texts == ["one", "one"]


def test_an_engine_outlives_its_client(serve: Serve, connected: Connected):
    served = serve(say("x"))
    event = {"point": "BeforeToolUse", "tool": "bash"}
    engine = sync.HookEngine()
    engine.register(Hook.new("one", HookEventType.PreToolUse))
    engine.register_handler("one", lambda _: HookResponse.block("one"))
    with connected(served) as client:
        engine.connect(client)
        with pytest.raises(HookError, match="connected already"):
            engine.connect(client)
    engine.unregister("one")
    engine.register(Hook.new("two", HookEventType.PreToolUse).with_config(max_retries=1))
    engine.register_handler("two", lambda _: HookResponse.block("two"))
    engine.register(Hook.new("log", HookEventType.PreToolUse).with_config(max_retries=1, async_execution=True))
    tries: list[str] = []
    told = threading.Event()

    def second_time(event: HookEvent[PreToolUsePayload]) -> None:
        tries.append(event.payload["tool"])
        if len(tries) < 2:
            raise RuntimeError("not yet")
        told.set()

    engine.register_handler("log", second_time)
    with connected(served) as client:
        engine.connect(client)
        assert client.fire(event).judgement["reason"] == "two"
        assert told.wait(10)
    assert tries == ["Bash", "Bash"]


@pytest.mark.parametrize("is_lost", [False, True])
def test_whoever_waits_in_another_thread_is_told_that_the_client_is_closed(serve: Serve, transport: str, is_lost: bool):
    served = serve(bash("echo a > file"))
    address, token = served.address(transport)
    heard, ended = threading.Event(), list[Exception]()
    said: queue.Queue[str] = queue.Queue()

    def wait(news: Iterator[object]) -> None:
        try:
            for _ in news:
                heard.set()
        except VertebraError as error:
            ended.append(error)

    with sync.connect(address, token=token, patience=0.2) as client, attempts(said.put):
        thread = threading.Thread(target=wait, args=(client.approvals.watch(),), daemon=True)
        thread.start()
        assert any(news["event"] == "asked" for news in client.sessions.create().prompt("go"))
        assert heard.wait(PATIENCE)
        if is_lost:
            served.stop()
            for _ in range(3):
                assert "trying again" in said.get(timeout=PATIENCE)
    thread.join(PATIENCE)
    assert "closed" in str(ended)
    with pytest.raises(VertebraError, match="closed"):
        client.approvals.list()
