"""Programs that hold it wrong. Each line that a type checker has to refuse ends with what it complains about."""

# pyright: strict

from vertebra import (
    AfterToolUseEvent,
    Allow,
    BeforeToolUseEvent,
    Client,
    Deny,
    ExecutionEndEvent,
    Hook,
    HookEngine,
    HookEventType,
    PromptSubmitEvent,
    SessionEndEvent,
    ShouldContinueEvent,
    allow,
    deny,
    go_on,
    modify,
    patch,
    replace,
    retry,
    stop,
    sync,
    tool_result,
)


def hooks(client: Client) -> None:
    @client.guard("SessionEnd")  # refused: reportCallIssue
    async def no_guard_here(event: SessionEndEvent) -> None: ...

    @client.guard("BeforeToolUze")  # refused: reportCallIssue
    async def no_such_point(event: BeforeToolUseEvent) -> None: ...

    @client.on("AfterToolUse")  # refused: reportArgumentType
    async def too_late_to_deny(event: AfterToolUseEvent) -> Deny:
        return deny("no")

    @client.on("AfterToolUse")  # refused: reportArgumentType
    async def inferred(event: AfterToolUseEvent):
        if not event["result"]["success"]:
            return retry(1)
        return deny("no")

    @client.guard("PromptSubmit")  # refused: reportArgumentType
    def nothing_to_allow(event: PromptSubmitEvent) -> Allow:
        return allow()

    @client.guard("BeforeToolUse")  # refused: reportArgumentType
    async def a_guard_changes_nothing(event: BeforeToolUseEvent):
        return modify({"command": "ls"})

    @client.on("ShouldContinue")  # refused: reportArgumentType
    async def nothing_can_be_changed_here(event: ShouldContinueEvent):
        return go_on("test it").patch({"text": ""})

    @client.on("ExecutionEnd")  # refused: reportArgumentType
    async def it_has_ended(event: ExecutionEndEvent):
        return stop("too late")

    @client.watch("BeforeToolUse")  # refused: reportArgumentType
    async def a_watch_decides_nothing(event: BeforeToolUseEvent):
        return deny("no")

    @client.on("BeforeInference")  # refused: reportArgumentType
    async def the_event_of_another_point(event: BeforeToolUseEvent):
        return None

    @client.guard("BeforeToolUse", on_failure="open")  # refused: reportArgumentType
    async def a_guard_fails_closed(event: BeforeToolUseEvent) -> None: ...

    @client.watch("BeforeToolUse", max_retries=1)  # refused: reportArgumentType
    async def a_watch_is_not_asked_again(event: BeforeToolUseEvent) -> None: ...

    @client.guard("PromptSubmit", tool="bash")  # refused: reportCallIssue
    async def a_prompt_has_no_tool(event: PromptSubmitEvent) -> None: ...

    @client.guard("BeforeToolUse", priority="high")  # refused: reportArgumentType
    async def a_priority_is_a_number(event: BeforeToolUseEvent) -> None: ...

    @client.on("BeforeToolUse")
    async def a_field_that_is_not_there(event: BeforeToolUseEvent):
        return deny(event["resul"])  # refused: reportGeneralTypeIssues

    @client.on("BeforeInference")  # refused: reportArgumentType
    async def the_result_of_another_point(event: object):
        return replace(tool_result("x"))


def without_async(client: sync.Client) -> None:
    @client.guard("AfterToolUse")  # refused: reportArgumentType
    def too_late(event: AfterToolUseEvent):
        return deny("no")

    @client.on("SessionEnd")  # refused: reportArgumentType
    def nothing_to_patch(event: object):
        return patch({"runs": 0})


def engine(engine: HookEngine) -> None:
    engine.register_handler("x", lambda _: {"action": "Blok"})  # refused: reportArgumentType
    engine.register_handler("x", lambda _: True)  # refused: reportArgumentType
    Hook.new("x", HookEventType.PreToolUse).with_config(priorty=1)  # refused: reportCallIssue
