"""One event through the hooks of an engine, without a server: for tests of policies."""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .calling import AnyHandler, call
from .errors import VerdictError
from .hook import Hook
from .matching import holds
from .payloads import HookEvent, HookEventType
from .response import Action, HookResponse, read_response
from .translate import POINT_OF, check, reason_of

logger = logging.getLogger("vertebra")

Outcome = Literal["answered", "failed", "detached", "no_handler", "not_run"]


@dataclass(frozen=True)
class HookRun:
    """What became of a hook that matched."""

    id: str
    outcome: Outcome
    response: HookResponse | None = None
    """What it answered."""
    error: str | None = None
    """How it failed."""
    attempts: int = 0
    duration_ms: float = 0


@dataclass(frozen=True)
class HookResult:
    """What came of an event: who ran, and who decided."""

    action: Action
    event: HookEvent[Any]
    """The event as hooks left it."""
    reason: str | None = None
    modified: dict[str, object] | None = None
    """The changed value, or `None` if no hook changed anything."""
    retry_delay_ms: int | None = None
    decided_by: str | None = None
    """The hook that decided, or `None` if all hooks continued."""
    ran: list[HookRun] = field(default_factory=list[HookRun])
    """The hooks that matched, in their order."""

    @property
    def blocked(self) -> bool:
        """Whether it must not happen."""
        return self.action == "Block"


Detach = Callable[[Coroutine[Any, Any, None]], None]


async def fire(event: HookEvent[Any], hooks: list[Hook], handlers: dict[str, AnyHandler], detach: Detach) -> HookResult:
    """Puts the event to all hooks of its kind, in order: by priority, then as they were registered."""
    ordered = sorted((hook for hook in hooks if hook.event_type == event.event_type), key=_priority)
    result = HookResult("Continue", copy.deepcopy(event))
    for hook in ordered:
        if not holds(hook.matcher, result.event.payload):
            continue
        run = await _run(hook, handlers.get(hook.id), result, detach)
        result.ran.append(run)
        result = _merged(result, hook, run)
    return result


def _priority(hook: Hook) -> int:
    return hook.config.priority


async def _run(hook: Hook, handler: AnyHandler | None, result: HookResult, detach: Detach) -> HookRun:
    if result.decided_by is not None:
        return HookRun(hook.id, "not_run")
    if handler is None:
        return HookRun(hook.id, "no_handler")
    # Changing the event object has no effect: only the answer counts.
    event = copy.deepcopy(result.event)
    if hook.config.async_execution:
        detach(_behind(hook, handler, event))
        return HookRun(hook.id, "detached")
    began = time.perf_counter()
    run = await _tried(hook, handler, event)
    return replace(run, duration_ms=(time.perf_counter() - began) * 1000)


async def _tried(hook: Hook, handler: AnyHandler, event: HookEvent[Any]) -> HookRun:
    """Asks the handler, and again as often as its hook says."""
    error = ""
    for attempt in range(1, hook.config.max_retries + 2):
        try:
            answer = await asyncio.wait_for(call(handler, event), hook.config.timeout_ms / 1000)
            response = read_response(answer)
            check(event.event_type, response)
        except VerdictError:
            raise
        except asyncio.TimeoutError:
            error = f"it took longer than {hook.config.timeout_ms} ms"
        except Exception as failure:  # noqa: BLE001 - whatever a handler raises is its failure
            error = f"{type(failure).__name__}: {failure}"
        else:
            return HookRun(hook.id, "answered", response, attempts=attempt)
    return HookRun(hook.id, "failed", error=error, attempts=hook.config.max_retries + 1)


async def tried_behind(hook: Hook, handler: AnyHandler, event: HookEvent[Any], threads: Executor | None = None) -> None:
    """Tells a handler of an event that has gone on, and again as often as its hook says. The last failure is raised."""
    for left in reversed(range(hook.config.max_retries + 1)):
        try:
            await asyncio.wait_for(call(handler, event, threads), hook.config.timeout_ms / 1000)
        except Exception:
            if not left:
                raise
        else:
            return


async def _behind(hook: Hook, handler: AnyHandler, event: HookEvent[Any]) -> None:
    try:
        await tried_behind(hook, handler, event)
    except Exception:
        logger.exception("the hook `%s` failed behind the event", hook.id)


def _merged(result: HookResult, hook: Hook, run: HookRun) -> HookResult:
    """What has come of the event after this hook."""
    if run.outcome == "failed":
        if not POINT_OF[hook.event_type].can_refuse:
            return result
        reason = f"the hook `{hook.id}` failed: {run.error}"
        return replace(result, action="Block", reason=reason, decided_by=hook.id)
    response = run.response
    if response is None:
        return result
    if response.modified is not None:
        event = HookEvent(hook.event_type, _modified(hook.event_type, result.event.payload, response.modified))
        # Arguments are replaced as a whole; of all else, what is named.
        before = {} if hook.event_type == HookEventType.PreToolUse else result.modified or {}
        return replace(result, event=event, modified=before | response.modified)
    if response.action == "Continue":
        return result
    return replace(
        result,
        action=response.action,
        reason=reason_of(hook.id, response) if response.action == "Block" else response.reason,
        retry_delay_ms=response.retry_delay_ms,
        decided_by=hook.id,
    )


def _modified(event_type: HookEventType, payload: dict[str, Any], modified: dict[str, Any]) -> dict[str, Any]:
    if event_type == HookEventType.PreToolUse:
        return payload | {"args": modified}
    if event_type == HookEventType.PostToolUse:
        return payload | {"result": payload["result"] | modified}
    return payload | modified
