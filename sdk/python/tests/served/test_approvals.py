"""Questions, and the people who answer them."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from vertebra import (
    Approval,
    BeforeToolUseEvent,
    Client,
    RequestError,
    RunReport,
    Session,
    Settled,
    approve,
    ask,
    deny,
    edit,
    later,
)
from vertebra.approvals import Decision

from .conftest import Serve
from .turns import bash, is_named, say, write


async def asked(client: Client, decision: Decision) -> tuple[Session, Approval, RunReport]:
    """A run whose call is asked about, and answered."""

    @client.guard("BeforeToolUse", tool="bash")
    async def careful(event: BeforeToolUseEvent):
        return ask("is that wise?") if "wise" not in event["args"] else None

    session = await client.sessions.create()
    run = asyncio.create_task(session.prompt("go").result())
    async for question in client.approvals.watch(session.id):
        if isinstance(question, Approval):
            assert await client.approvals.list() == [question]
            assert await client.approvals.answer(question, decision)
            return session, question, await run
    raise AssertionError("nobody asked")


async def test_a_yes_is_to_exactly_what_was_shown(serve: Serve):
    served = serve(bash("echo asked > file"), say("done"), options=("--mode", "bypass"))
    async with serve.client(served) as client:
        session, question, report = await asked(client, approve())
        assert (question.session_id, question.tool, question.args) == (
            session.id,
            "bash",
            {"command": "echo asked > file"},
        )
        assert (question.reason, question.suspended, question.preview) == ("is that wise?", False, "")
        assert is_named(question.asked_by, "careful")
        assert report["status"] == "completed"
        assert (served.folder / "file").read_text() == "asked\n"
        assert await client.approvals.list() == []


async def test_a_question_about_a_file_shows_what_would_change(serve: Serve):
    served = serve(write("poem.txt", "roses are red\n"), say("done"), options=("--mode", "bypass"))
    async with serve.client(served) as client:

        @client.guard("BeforeToolUse", tool="write_file")
        async def careful(event: BeforeToolUseEvent):
            return ask("may it?")

        session = await client.sessions.create()
        run = asyncio.create_task(session.prompt("go").result())
        async for question in client.approvals.watch(session.id):
            if isinstance(question, Approval):
                assert "+roses are red" in question.preview
                await client.approvals.answer(question, approve())
                break
        await run
        assert (served.folder / "poem.txt").read_text() == "roses are red\n"


async def test_a_no_is_read_by_the_model(serve: Serve):
    served = serve(bash("echo asked > file"), {"expect": "not today", "say": "I see"}, options=("--mode", "bypass"))
    async with serve.client(served) as client:
        _, _, report = await asked(client, deny("not today"))
        assert report["text"] == "I see"
        assert not (served.folder / "file").exists()


async def test_arguments_are_edited(serve: Serve):
    served = serve(bash("echo asked > file"), say("done"), options=("--mode", "bypass"))
    async with serve.client(served) as client:
        # The guard asks about what was edited, too, unless it is told.
        session = await client.sessions.create()

        @client.guard("BeforeToolUse", tool="bash")
        async def careful(event: BeforeToolUseEvent):
            return ask("is that wise?") if "asked" in event["args"]["command"] else None

        run = asyncio.create_task(session.prompt("go").result())
        told: list[str] = []
        async for question in client.approvals.watch():
            if isinstance(question, Settled):
                told.append(question.decision)
                break
            await client.approvals.answer(question, edit({"command": "echo edited > file"}))
        await run
        assert told == ["edit"]
        assert (served.folder / "file").read_text() == "edited\n"


async def test_a_run_waits_in_the_journal_until_it_is_resumed(serve: Serve):
    served = serve(bash("echo asked > file"), say("done"), options=("--mode", "bypass"))
    async with serve.client(served) as client:
        session, question, report = await asked(client, later())
        assert report["status"] == "suspended"
        assert (await session.refresh()).status == "suspended"
        (waiting,) = await client.approvals.list(session.id)
        assert (waiting.call_id, waiting.suspended) == (question.call_id, True)
        assert not await client.approvals.answer(waiting, approve())
        assert await session.resume().text() == "done"
        assert (served.folder / "file").read_text() == "asked\n"


async def test_a_yes_to_other_arguments_is_refused(serve: Serve):
    served = serve(bash("echo asked"), say("done"), options=("--mode", "bypass"))
    async with serve.client(served) as client:

        @client.guard("BeforeToolUse")
        async def careful(event: BeforeToolUseEvent):
            return ask("is that wise?")

        session = await client.sessions.create()
        run = asyncio.create_task(session.prompt("go").result())
        async for question in client.approvals.watch(session.id):
            assert isinstance(question, Approval)
            forged = dataclasses.replace(question, digest="0" * 64)
            with pytest.raises(RequestError, match="other arguments"):
                await client.approvals.answer(forged, approve())
            await client.approvals.answer(question, deny("no"))
            break
        await run
