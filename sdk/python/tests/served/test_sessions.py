"""Sessions: prompts, what is told of them, and how they end."""

from __future__ import annotations

import asyncio
import signal

import pytest

from vertebra import AccessError, ConnectionLost, News, NotFoundError, RequestError, RunFailed, connect

from .conftest import Serve
from .turns import bash, say


async def test_a_prompt_is_told_as_it_happens_and_has_a_result(serve: Serve):
    used = {"usage": {"input_tokens": 5, "output_tokens": 2}}
    served = serve({**bash("echo hi"), **used}, {"stream": ["all ", "done"], **used}, options=("--mode", "bypass"))
    async with serve.client(served) as client:
        session = await client.sessions.create(system_prompt="Be brief.", labels={"team": "a"})
        run = session.prompt("hello")
        news = [event async for event in run]
        report = await run.result()
    assert [event["number"] for event in news] == list(range(1, len(news) + 1))
    kinds = [event["event"] for event in news if event["event"] not in ("hooks", "notice", "tool_says")]
    assert kinds == ["step", "delta", "delta", "used", "tool_began", "tool_ended", "step", *kinds[7:-1], "ended"]
    assert "".join(event["text"] for event in news if event["event"] == "delta" and event["channel"] == "text") == (
        "all done"
    )
    assert (report["status"], report["text"], report["steps"], report["tool_calls"]) == ("completed", "all done", 2, 1)
    assert (report["usage"]["input_tokens"], report["usage"]["output_tokens"]) == (10, 4)
    assert report["run_id"] == news[0]["run_id"]


async def test_a_run_that_failed_raises_with_its_report(serve: Serve):
    async with serve.client(serve(say("one"))) as client:
        session = await client.sessions.create()
        assert await session.prompt("hello").text() == "one"
        with pytest.raises(RunFailed, match="has no turn left") as failed:
            await session.prompt("again").result()
        assert failed.value.report["status"] == "failed"


async def test_what_happened_is_told_again_after_a_number(serve: Serve):
    async with serve.client(serve(say("one"), say("two"))) as client:
        session = await client.sessions.create()
        first = [event async for event in session.prompt("a")]
        told: list[News] = []
        reading = session.events(after=first[-2]["number"])
        second = asyncio.create_task(session.prompt("b").result())
        async for event in reading:
            told.append(event)
            if event["event"] == "ended" and event["number"] > first[-1]["number"]:
                break
        report = await second
    assert told[0] == first[-1]
    assert told[-1]["run_id"] == report["run_id"]
    assert [event["number"] for event in told] == list(range(first[-1]["number"], told[-1]["number"] + 1))


async def test_a_run_is_cancelled_and_the_session_goes_on(serve: Serve):
    slow = {"stream": ["this may take a while ", "and a while"], "pause_ms": 600_000}
    async with serve.client(serve(slow, say("fine"))) as client:
        session = await client.sessions.create()
        run = session.prompt("wait")
        async for event in run:
            if event["event"] == "delta":
                assert (await session.refresh()).status == "running"
                assert await session.cancel()
        assert (await run.result())["status"] == "cancelled"
        assert not await session.cancel()
        assert await session.prompt("again").text() == "fine"


async def test_sessions_are_listed_by_their_labels_and_closed_once(serve: Serve):
    async with serve.client(serve(say("x"))) as client:
        one = await client.sessions.create(labels={"team": "a", "who": "1"})
        await client.sessions.create(labels={"team": "b"})
        found = await client.sessions.list(labels={"team": "a"})
        assert [(session.id, session.info.labels) for session in found] == [(one.id, {"team": "a", "who": "1"})]
        assert len(await client.sessions.list()) == 2
        assert (await client.sessions.get(one.id)).info.status == "idle"
        await one.prompt("hello").result()
        report = await one.close()
        assert (report["session_id"], report["runs"], report["tool_calls"]) == (one.id, 1, 0)
        with pytest.raises(NotFoundError):
            await one.close()
        assert len(await client.sessions.list()) == 1


async def test_a_session_works_in_its_folder(serve: Serve):
    served = serve(bash("pwd"), say("done"), options=("--mode", "bypass"))
    (served.folder / "sub").mkdir()
    async with serve.client(served) as client:
        session = await client.sessions.create(folder="sub")
        outputs = [event["result"]["output"] async for event in session.prompt("go") if event["event"] == "tool_ended"]
        assert str(served.folder / "sub") in outputs[0]
        with pytest.raises((RequestError, NotFoundError, AccessError)):
            await client.sessions.create(folder="../..")


async def test_the_journal_can_be_read(serve: Serve):
    served = serve(bash("echo a"), say("done"), options=("--mode", "bypass"))
    async with serve.client(served) as client:
        session = await client.sessions.create()
        await session.prompt("go").result()
        lines = [line async for line in client.records(session.id)]
        assert [line.number for line in lines] == sorted({line.number for line in lines})
        assert (lines[0].kind, lines[-1].kind) == ("session_began", "run_ended")
        assert lines[0].data["session_id"] == session.id
        after = lines[2].number
        rest = [line async for line in client.records(session.id, after=after, kinds=["model_answered"])]
        assert rest == [line for line in lines if line.kind == "model_answered"]


async def test_the_journal_is_followed_to_the_end_of_the_session(serve: Serve):
    async with serve.client(serve(say("done"))) as client:
        session = await client.sessions.create()
        kinds: list[str] = []
        tasks: list[asyncio.Task[object]] = []
        async for line in client.records(session.id, follow=True):
            kinds.append(line.kind)
            if line.kind == "session_began":
                tasks.append(asyncio.create_task(session.prompt("go").result()))
            if line.kind == "run_ended":
                await asyncio.gather(*tasks)
                tasks.append(asyncio.create_task(session.close()))
        await asyncio.gather(*tasks)
    assert (kinds[0], kinds[-1]) == ("session_began", "session_ended")


async def test_whoever_is_not_known_is_told_so(serve: Serve):
    served = serve(say("x"))
    for token in (None, "another"):
        async with connect(served.tcp, token=token) as client:
            with pytest.raises(AccessError):
                await client.sessions.list()

            @client.watch("SessionStart")
            async def see(event: object) -> None: ...

            with pytest.raises(AccessError):
                await client.ready()


async def test_a_server_that_is_not_there_is_told_after_a_while(serve: Serve):
    served = serve(say("x"))
    client = serve.client(served, patience=0.5)
    served.stop(signal.SIGKILL)
    async with client:
        with pytest.raises(ConnectionLost):
            await client.sessions.list()

        @client.watch("SessionStart")
        async def see(event: object) -> None: ...

        with pytest.raises(ConnectionLost, match=r"the hooks are not in force after 0.5 s: "):
            await client.sessions.create()


async def test_a_run_that_a_server_left_is_finished_by_the_next_one(serve: Serve):
    served = serve(bash("echo a"), {"say": "slow", "wait_ms": 600_000}, say("finished"), options=("--mode", "bypass"))
    async with serve.client(served, patience=2) as client:
        session = await client.sessions.create()
        run = session.prompt("go")
        async for event in run:
            if event["event"] == "tool_ended":
                served.stop(signal.SIGKILL)
                break
        with pytest.raises(ConnectionLost):
            await run.result()
        served.say([say("finished")])
        served.start()
        left = [found for found in await client.sessions.list() if found.id == session.id]
        assert [found.info.status for found in left] == ["suspended"]
        assert await client.sessions.resume(session.id).text() == "finished"
