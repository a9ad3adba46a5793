"""What an engine is used for, each on a real server: security, validation, transformation, audit, cost, rate limits."""

from __future__ import annotations

from vertebra import (
    GenerateEndPayload,
    GenerateStartPayload,
    Hook,
    HookEngine,
    HookEvent,
    HookEventType,
    HookMatcher,
    HookResponse,
    PostToolUsePayload,
    PreToolUsePayload,
    ResponseDict,
)

from .conftest import Serve
from .turns import bash, ended, is_named, say, write


async def test_a_dangerous_command_is_blocked(serve: Serve):
    served = serve(bash("cd . && rm -rf build"), bash("echo fine"), say("done"), options=("--mode", "bypass"))
    (served.folder / "build").mkdir()
    engine = HookEngine()
    engine.register(
        Hook.new("block-rm-rf", HookEventType.PreToolUse)
        .with_matcher(HookMatcher.command(r"rm\s+-rf"))
        .with_config(priority=1)
    )
    engine.register_handler(
        "block-rm-rf", lambda _: {"action": "Block", "reason": "Recursive force deletion is not allowed"}
    )
    async with serve.client(served) as client:
        await engine.connect(client)
        session = await client.sessions.create()
        blocked, fine = await ended(session.prompt("clean up"))
    assert (served.folder / "build").is_dir()
    assert blocked["status"] == "blocked"
    assert "Recursive force deletion is not allowed" in blocked["output"]
    assert (fine["status"], fine["success"]) == ("done", True)


async def test_writes_are_restricted_to_a_folder(serve: Serve):
    served = serve(
        write("../outside.txt", "x"), write("sub/inside.txt", "y"), say("done"), options=("--mode", "accept-edits")
    )
    workspace = served.folder / "sub"
    workspace.mkdir()
    engine = HookEngine()
    engine.register(Hook.new("restrict-writes", HookEventType.PreToolUse).with_matcher(HookMatcher.tool("Write")))

    def restrict(event: HookEvent[PreToolUsePayload]) -> HookResponse:
        path = event.payload["args"]["file_path"]
        if not path.startswith(f"{workspace}/"):
            return HookResponse.block(f"Write access denied: {path} is outside workspace")
        return HookResponse.continue_()

    engine.register_handler("restrict-writes", restrict)
    async with serve.client(served) as client:
        await engine.connect(client)
        session = await client.sessions.create()
        outside, inside = await ended(session.prompt("write"))
    assert outside["status"] == "blocked"
    assert f"Write access denied: {served.folder.parent}/outside.txt is outside workspace" in outside["output"]
    assert inside["success"]
    assert (workspace / "inside.txt").read_text() == "y"
    assert not (served.folder.parent / "outside.txt").exists()


async def test_a_timeout_is_added_to_commands(serve: Serve):
    own = {"call": {"tool": "bash", "args": {"command": "echo b", "timeout_ms": 5000}}}
    served = serve(bash("echo a"), own, say("done"), options=("--mode", "bypass"))
    engine = HookEngine()
    engine.register(Hook.new("add-timeout", HookEventType.PreToolUse).with_matcher(HookMatcher.tool("Bash")))

    async def add_timeout(event: HookEvent[PreToolUsePayload]) -> ResponseDict:
        args = event.payload["args"]
        return {"action": "Continue", "modified": {**args, "timeout": args.get("timeout") or 30000}}

    engine.register_handler("add-timeout", add_timeout)
    async with serve.client(served) as client:
        await engine.connect(client)
        session = await client.sessions.create()
        began = [news["call"]["args"] async for news in session.prompt("go") if news["event"] == "tool_began"]
    assert began == [{"command": "echo a", "timeout_ms": 30000}, {"command": "echo b", "timeout_ms": 5000}]


async def test_every_call_is_audited(serve: Serve):
    served = serve(bash("echo a"), bash("exit 3"), say("done"), options=("--mode", "bypass"))
    log: list[tuple[str, str, bool, int | None]] = []
    engine = HookEngine()
    engine.register(Hook.new("audit-log", HookEventType.PostToolUse).with_config(async_execution=True, priority=1000))

    class Audit:
        def handle(self, event: HookEvent[PostToolUsePayload]) -> HookResponse:
            payload = event.payload
            result = payload["result"]
            assert result["duration_ms"] >= 0
            log.append((payload["session_id"], payload["tool"], result["success"], result.get("exit_code")))
            return HookResponse.continue_()

    engine.register_handler("audit-log", Audit())
    async with serve.client(served) as client:
        await engine.connect(client)
        session = await client.sessions.create()
        await session.prompt("go").result()
        # What runs behind a session is waited for when it is closed.
        report = await session.close()
    assert log == [(session.id, "Bash", True, 0), (session.id, "Bash", False, 3)]
    assert report["watches"] == {"dropped": 0, "unfinished": 0}


async def test_tokens_are_counted_and_limited(serve: Serve):
    used = {"usage": {"input_tokens": 60_000, "output_tokens": 1_000}}
    served = serve(
        {**bash("echo a"), **used}, {**bash("echo b"), **used}, {**say("done"), **used}, options=("--mode", "bypass")
    )
    spent: dict[str, int] = {}
    engine = HookEngine()
    engine.register(Hook.new("token-budget", HookEventType.GenerateEnd))

    def budget(event: HookEvent[GenerateEndPayload]) -> HookResponse:
        session, usage = event.payload["session_id"], event.payload["usage"]
        spent[session] = spent.get(session, 0) + usage["total_tokens"]
        if spent[session] > 100_000:
            return HookResponse.block(f"Session {session} exceeded 100k tokens")
        return HookResponse.continue_()

    engine.register_handler("token-budget", budget)
    async with serve.client(served) as client:
        await engine.connect(client)
        session = await client.sessions.create()
        report = await session.prompt("go").result()
    assert spent == {session.id: 122_000}
    assert report["status"] == "stopped"
    assert is_named(report["stop"]["source"], "token-budget")
    assert report["stop"]["message"] == f"Session {session.id} exceeded 100k tokens"


async def test_a_rate_limit_is_waited_out(serve: Serve):
    served = serve(say("done"))
    asked: list[str] = []
    engine = HookEngine()
    engine.register(Hook.new("rate-limit-retry", HookEventType.GenerateStart))

    async def slow_down(event: HookEvent[GenerateStartPayload]) -> HookResponse:
        asked.append(event.payload["prompt"])
        assert event.payload["model_provider"] == "script"
        assert "Bash" in event.payload["available_tools"]
        return HookResponse.retry(10) if len(asked) < 3 else HookResponse.continue_()

    engine.register_handler("rate-limit-retry", slow_down)
    async with serve.client(served) as client:
        await engine.connect(client)
        session = await client.sessions.create()
        assert await session.prompt("hello").text() == "done"
    assert asked == ["hello", "hello", "hello"]
