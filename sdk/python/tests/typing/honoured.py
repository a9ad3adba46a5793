"""Programs that a type checker has to take, word for word."""

# pyright: strict

import datetime
from collections.abc import AsyncIterator

from typing_extensions import assert_type

from vertebra import (
    AfterInferenceEvent,
    AfterStepEvent,
    AfterToolUseEvent,
    Allow,
    Approval,
    BeforeInferenceEvent,
    BeforeToolUseEvent,
    Client,
    Deny,
    Hook,
    HookEngine,
    HookEvent,
    HookEventType,
    HookMatcher,
    HookResponse,
    InferenceDeltaEvent,
    Matcher,
    OnErrorEvent,
    OutputEvent,
    PostToolUsePayload,
    PreToolUsePayload,
    PromptSubmitEvent,
    RunReport,
    SessionStartEvent,
    ToolUseFailedEvent,
    add_context,
    allow,
    approve,
    ask,
    connect,
    deny,
    edit,
    exists,
    go_on,
    halt,
    hold,
    later,
    matches,
    modify,
    proceed,
    recover,
    replace,
    retry,
    set_,
    skip,
    stop,
    sync,
    tool_result,
)


async def hooks(client: Client) -> None:
    @client.guard("BeforeToolUse", tool="bash", command=r"rm\s+-rf", priority=1, timeout=5, shadow=True)
    async def no_force(event: BeforeToolUseEvent) -> Deny | None:
        return deny("force is for humans") if "--force" in event["args"]["command"] else None

    @client.guard("PreToolUse", tool=["write_file", "edit_file"], path="src/**")
    def asks(event: BeforeToolUseEvent):
        match event["tool"]:
            case "write_file":
                return ask("may I?")
            case "edit_file":
                return allow()
            case _:
                return proceed()

    @client.on("BeforeToolUse", args={"/timeout_ms": exists(), "/command": matches("git")}, on_failure="ask")
    async def changes(event: BeforeToolUseEvent):
        if event["depth"]:
            return allow().set(timeout_ms=30_000).add_context("it may take long")
        if event["step"] > 3:
            return modify({**event["args"], "timeout_ms": 5})
        if event["recent_tools"]:
            return replace("cached")
        return replace(tool_result("cached", exit_code=0)) if event["aliases"] else retry(0.5)

    @client.on("BeforeInference", before="other", after=["a", "b"])
    async def asked(event: BeforeInferenceEvent):
        if event["messages"][-1]["role"] == "user":
            return set_(temperature=0.0)
        return replace("no model was asked") if event["tools"] else stop("enough")

    @client.on("InferenceDelta")
    async def pieces(event: InferenceDeltaEvent):
        if event["last"]:
            return halt("enough")
        return hold() if event["text"].endswith("\\") else set_(text=event["text"].upper())

    @client.on("AfterInference")
    async def answered(event: AfterInferenceEvent):
        return retry(datetime.timedelta(seconds=1)) if not event["response"]["text"] else None

    @client.on("ToolUseFailed")
    async def failed(event: ToolUseFailedEvent):
        return recover("nothing") if event["reached"] else recover(tool_result("", success=False))

    @client.on("AfterStep", step="final_response")
    async def ends(event: AfterStepEvent):
        return go_on("run the tests").add_context("they are in tests/")

    @client.on("OnError")
    async def error(event: OnErrorEvent):
        return recover(event["message"]) if event["class"] == "network" else skip()

    @client.on("SessionStart", match=Matcher(agent="main") & ~Matcher(session="x"))
    def begins(event: SessionStartEvent):
        return set_(system_prompt=event["system_prompt"] + "\nBe brief.")

    @client.guard("SessionStart")
    async def opens(event: SessionStartEvent) -> Deny | None:
        return deny("closed") if event["resumed"] else None

    @client.on("Output")
    async def leaves(event: OutputEvent):
        return deny("a secret") if event["stop"]["hard"] else set_(text=event["text"].strip())

    @client.guard("UserPromptSubmit")
    async def prompt(event: PromptSubmitEvent) -> Deny | None:
        return deny("empty") if not event["prompt"] else None

    @client.on("PromptSubmit")
    async def tells(event: PromptSubmitEvent):
        return add_context("today is Monday")

    session = await client.sessions.create(labels={"team": "a"}, when_lost="suspend")

    @client.watch("PostToolUse", detached=True, scope=session)
    async def seen(event: AfterToolUseEvent) -> None:
        assert_type(event["result"]["success"], bool)


async def sessions(client: Client) -> None:
    session = await client.sessions.create(folder="sub", system_prompt="Be brief.")
    run = session.prompt("hello")
    async for event in run:
        if event["event"] == "delta":
            assert_type(event["text"], str)
        elif event["event"] == "tool_ended":
            assert_type(event["call"]["tool"], str)
    assert_type(await run.result(), RunReport)
    assert_type(await session.prompt("again").text(), str)
    async for question in client.approvals.watch():
        if isinstance(question, Approval):
            await client.approvals.answer(question, approve() if question.tool == "bash" else deny("no"))
            await client.approvals.answer(question, edit({"command": "ls"}) if question.suspended else later())
    fired = await client.fire({"point": "BeforeToolUse", "tool": "bash", "args": {"command": "ls"}})
    assert_type(fired.judgement["reason"], str | None)
    async for line in client.records(session.id, kinds=["dispatch"]):
        assert_type(line.number, int)


async def opened() -> AsyncIterator[Client]:
    async with connect("unix:///run/vertebra.sock") as client:
        yield client


def without_async() -> None:
    with sync.connect("127.0.0.1:7777", token="t") as client:

        @client.guard("BeforeToolUse", tool="bash")
        def no_force(event: BeforeToolUseEvent) -> Deny | Allow:
            return deny("no") if "--force" in event["args"]["command"] else allow()

        session = client.sessions.create()
        for event in session.prompt("hello"):
            if event["event"] == "ended":
                assert_type(event["report"], RunReport)
        assert_type(session.prompt("hello").text(), str)


class Audits:
    def handle(self, event: HookEvent[PostToolUsePayload]) -> HookResponse:
        assert_type(event.payload["result"]["duration_ms"], int)
        return HookResponse.continue_()


def engine() -> HookEngine:
    engine = HookEngine()
    engine.register(
        Hook.new("block-rm-rf", HookEventType.PreToolUse)
        .with_matcher(HookMatcher.command(r"rm\s+-rf"))
        .with_config(priority=1)
    )
    engine.register_handler("block-rm-rf", lambda event: {"action": "Block", "reason": event.payload["tool"]})

    async def restrict(event: HookEvent[PreToolUsePayload]) -> HookResponse:
        path = event.payload["args"]["file_path"]
        return HookResponse.continue_() if path.startswith("/workspace/") else HookResponse.block(f"not {path}")

    engine.register({"id": "restrict", "event_type": "pre_tool_use", "matcher": {"tool": "Write"}})
    engine.register_handler("restrict", restrict)
    engine.register(Hook.new("audit", HookEventType.PostToolUse).with_config({"async_execution": True}))
    engine.register_handler("audit", Audits())
    return engine
