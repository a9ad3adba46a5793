"""Clients that are lost and come back."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator

import pytest

from vertebra import (
    AccessError,
    Approval,
    BeforeToolUseEvent,
    Client,
    ConnectionLost,
    PromptSubmitEvent,
    Settled,
    VertebraError,
    connect,
    deny,
)

from .attempts import attempts
from .conftest import Serve
from .relay import Relay
from .server import TOKEN, Served
from .turns import bash, ended, is_named, say

BYPASS = ("--mode", "bypass")


@pytest.fixture
def transport() -> str:
    """A relay stands before a port."""
    return "tcp"


async def relayed(served: Served) -> Relay:
    host, port = served.tcp.removeprefix("tcp://").rsplit(":", 1)
    relay = Relay(host, int(port))
    await relay.open()
    return relay


async def test_an_event_waits_for_a_client_that_comes_back_and_is_answered_once(serve: Serve):
    served = serve(bash("echo a > file"), say("done"), options=BYPASS)
    relay = await relayed(served)
    asked: list[str] = []
    at_work, may_answer = asyncio.Event(), asyncio.Event()
    async with connect(relay.address, token=TOKEN) as client, connect(served.tcp, token=TOKEN) as other:

        @client.guard("BeforeToolUse")
        async def careful(event: BeforeToolUseEvent):
            asked.append(event["event_id"])
            at_work.set()
            await may_answer.wait()
            return deny("decided while nobody heard")

        await client.ready()
        session = await other.sessions.create()
        run = asyncio.create_task(ended(session.prompt("go")))
        await at_work.wait()
        await relay.cut()
        # The answer is there before the server is.
        may_answer.set()
        await relay.open()
        (result,) = await run
        assert "decided while nobody heard" in result["output"]
        assert len(asked) == 1, "the handler ran once"
        assert not (served.folder / "file").exists()
    await relay.cut()


async def test_a_handler_that_is_still_at_work_answers_over_the_next_connection(serve: Serve):
    served = serve(bash("echo a"), say("done"), options=BYPASS)
    relay = await relayed(served)
    asked: list[str] = []
    at_work, may_answer = asyncio.Event(), asyncio.Event()
    async with connect(relay.address, token=TOKEN) as client, connect(served.tcp, token=TOKEN) as other:

        @client.guard("BeforeToolUse")
        async def careful(event: BeforeToolUseEvent):
            asked.append(event["event_id"])
            at_work.set()
            await may_answer.wait()
            return deny("decided later")

        @client.on("PromptSubmit")
        async def passes(event: PromptSubmitEvent) -> None: ...

        await client.ready()
        session = await other.sessions.create()
        run = asyncio.create_task(ended(session.prompt("go")))
        await at_work.wait()
        await relay.cut()
        await relay.open()
        await relay.visited.wait()
        # What comes over the stream after the event that was put again has come, too.
        await client.fire({"point": "PromptSubmit", "prompt": "hello"})
        may_answer.set()
        (result,) = await run
        assert "decided later" in result["output"]
        assert len(asked) == 1
    await relay.cut()


async def test_what_is_told_of_a_run_goes_on_after_the_connection_was_lost(serve: Serve):
    served = serve({"stream": [f"{n} " for n in range(20)], "pause_ms": 20})
    relay = await relayed(served)
    async with connect(relay.address, token=TOKEN) as client:
        session = await client.sessions.create()
        run = session.prompt("count")
        numbers: list[int] = []
        async for news in run:
            numbers.append(news["number"])
            if news["event"] == "delta" and len(numbers) < 10:
                await relay.cut()
                await relay.open()
        assert numbers == list(range(1, len(numbers) + 1)), "nothing was missed, and nothing told twice"
        assert (await run.result())["status"] == "completed"
        assert (await run.text()).startswith("0 1 2 ")
    await relay.cut()


async def test_a_connection_that_has_gone_silent_is_noticed(serve: Serve):
    served = serve(say("x"))
    relay = await relayed(served)
    async with connect(relay.address, token=TOKEN) as client, connect(served.tcp, token=TOKEN) as other:

        @client.guard("PromptSubmit")
        async def no(event: PromptSubmitEvent):
            return deny("heard after all")

        await client.ready()
        session = await other.sessions.create()
        relay.freeze()
        report = await session.prompt("hello").result()
        assert "heard after all" in json.dumps(report)
    await relay.cut()


async def test_events_and_records_are_followed_over_a_loss(serve: Serve):
    served = serve(say("one"), say("two"))
    relay = await relayed(served)
    async with connect(relay.address, token=TOKEN) as client, connect(served.tcp, token=TOKEN) as other:
        session = await other.sessions.create()
        await session.prompt("a").result()
        here = await client.sessions.get(session.id)
        numbers, lines = [], []
        records = client.records(session.id, follow=True)
        async for event in here.events():
            numbers.append(event["number"])
            lines.append((await records.__anext__()).number)
            if event["event"] == "ended" and len(numbers) == numbers[-1]:
                if numbers[-1] > 12:
                    break
                await relay.cut()
                await relay.open()
                await session.prompt("b").result()
        assert numbers == list(range(1, len(numbers) + 1))
        assert lines == list(range(1, len(lines) + 1))
    await relay.cut()


async def test_hooks_are_registered_anew_with_a_server_that_was_restarted(serve: Serve):
    served = serve(say("x"))
    async with serve.client(served) as client:

        @client.guard("BeforeToolUse")
        async def no(event: BeforeToolUseEvent):
            return deny("no")

        event = {"point": "BeforeToolUse", "tool": "bash"}
        assert (await client.fire(event)).judgement["decision"] == "deny"
        served.stop(signal.SIGKILL)
        served.start()
        # Until the loss is noticed, the hooks are those of the server that is gone.
        while not await client.hooks():
            await client.ready()
        assert (await client.fire(event)).judgement["decision"] == "deny"


async def test_a_client_that_leaves_takes_its_hooks_along_unless_it_leaves_them(serve: Serve):
    served = serve(say("x"))
    async with serve.client(served) as other:
        for leave in (False, True):
            client = serve.client(served, client_id=f"leaves-{leave}")

            @client.guard("BeforeToolUse", name=f"leaves-{leave}")
            async def no(event: BeforeToolUseEvent):
                return deny("no")

            async with client:
                session = await client.sessions.create()
                assert any(is_named(hook.name, f"leaves-{leave}") for hook in await other.hooks(session.id))
                await client.close(leave_hooks=leave)
            left = any(is_named(hook.name, f"leaves-{leave}") for hook in await other.hooks(session.id))
            assert left is leave


async def test_a_process_that_comes_back_under_its_name_takes_up_what_waits(serve: Serve):
    served = serve(bash("echo a > file"), say("done"), options=BYPASS)
    at_work = asyncio.Event()
    async with serve.client(served) as other:
        first = serve.client(served, client_id="policy")

        @first.guard("BeforeToolUse", name="policy")
        async def hangs(event: BeforeToolUseEvent) -> None:
            at_work.set()
            await asyncio.sleep(3600)

        await first.ready()
        session = await other.sessions.create()
        run = asyncio.create_task(ended(session.prompt("go")))
        await at_work.wait()
        await first.close(leave_hooks=True)
        async with serve.client(served, client_id="policy") as second:

            @second.guard("BeforeToolUse", name="policy")
            async def decides(event: BeforeToolUseEvent):
                return deny("the second one decided")

            await second.ready()
            (result,) = await run
            assert "the second one decided" in result["output"]


async def question(client: Client, news: AsyncIterator[Approval | Settled]) -> Approval:
    """Begins a run that asks whether it may, and waits until it does."""
    session = await client.sessions.create()
    # Nobody reads how it goes on: it waits for an answer in the server.
    async for event in session.prompt("go"):
        if event["event"] == "asked":
            break
    async for asked in news:
        assert isinstance(asked, Approval)
        assert asked.session_id == session.id
        # It is in the journal before it is put, and whoever looks in between is told of both.
        if not asked.suspended:
            return asked
    raise AssertionError("nobody asked")


async def test_questions_are_heard_of_after_a_loss_those_that_are_new_and_nothing_twice(serve: Serve):
    served = serve(bash("echo a > file"), say("done"))
    relay = await relayed(served)
    async with connect(relay.address, token=TOKEN, patience=0.2) as client, connect(served.tcp, token=TOKEN) as other:
        here, there = client.approvals.watch(), other.approvals.watch()
        first, second = await question(other, there), await question(other, there)
        assert [await here.__anext__(), await here.__anext__()] == [first, second]
        following = asyncio.ensure_future(here.__anext__())
        said: asyncio.Queue[str] = asyncio.Queue()
        with attempts(said.put_nowait):
            await relay.cut()
            # It does not give up.
            for _ in range(3):
                assert "trying again" in await said.get()
        await other.approvals.answer(first, deny("meanwhile"))
        assert await there.__anext__() == Settled(first.session_id, first.call_id, "deny")
        third = await question(other, there)
        await relay.open()
        assert await following == Settled(first.session_id, first.call_id, "gone")
        assert await here.__anext__() == third
        # The second waits all the time, and was told.
        await other.approvals.answer(second, deny("now"))
        assert await here.__anext__() == Settled(second.session_id, second.call_id, "deny")
    await relay.cut()


async def test_questions_are_heard_of_after_the_server_was_restarted(serve: Serve):
    served = serve(bash("echo a > file"))
    async with serve.client(served) as client, serve.client(served) as other:
        here, there = client.approvals.watch(), other.approvals.watch()
        asked = await question(other, there)
        assert await here.__anext__() == asked
        served.stop()
        served.start()
        news = await here.__anext__()
        if isinstance(news, Settled):
            # The server had the time to say so, or to be asked once more.
            assert news in [Settled(asked.session_id, asked.call_id, decision) for decision in ("later", "gone")]
            news = await here.__anext__()
        assert isinstance(news, Approval)
        assert (news.call_id, news.digest, news.suspended) == (asked.call_id, asked.digest, True)


async def test_questions_are_not_waited_for_where_there_is_no_server_or_no_right_to_hear_them(serve: Serve):
    served = serve()
    async with connect(served.tcp, token="that-of-someone-else") as client:
        with pytest.raises(AccessError):
            await client.approvals.watch().__anext__()
    served.stop()
    async with connect(served.tcp, token=TOKEN, patience=0.2) as client:
        with pytest.raises(ConnectionLost):
            await client.approvals.watch().__anext__()


async def test_a_client_that_is_closed_hears_of_no_more_questions(serve: Serve):
    served = serve()
    async with serve.client(served) as client:
        following = asyncio.ensure_future(client.approvals.watch().__anext__())
        await client.approvals.list()
    with pytest.raises(VertebraError, match="closed"):
        await following
