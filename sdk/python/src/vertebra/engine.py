"""`HookEngine`: hooks and their handlers in one object, tried out alone or put in force on a server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from .answers import to_json
from .calling import AnyHandler, call
from .client import Client
from .errors import HookError
from .firing import HookResult, fire, tried_behind
from .hook import Hook
from .matcher import Matcher
from .options import Scope
from .payloads import HookEvent
from .registration import Registration, scope_of
from .registry import HookRegistry
from .response import read_response
from .translate import POINT_OF, payload_of, verdict_for
from .v1 import hooks_pb2 as pb

logger = logging.getLogger("vertebra")


@dataclass(frozen=True)
class _Connected:
    client: Client
    scope: Scope
    loop: asyncio.AbstractEventLoop
    in_force: dict[str, Hook]


class Engine(HookRegistry):
    """What the engines with and without `async` have in common."""

    def __init__(self) -> None:
        super().__init__()
        self._behind: set[asyncio.Task[None]] = set()
        self._connected: _Connected | None = None

    async def _fire(self, event: HookEvent[Any]) -> HookResult:
        return await fire(event, self.all_hooks(), dict(self._handlers), self._detach)

    async def _drain(self) -> None:
        while self._behind:
            await asyncio.gather(*self._behind)

    async def _connect(self, client: Client, scope: Scope) -> None:
        if self._connected is not None and not self._connected.client.is_closed:
            raise HookError("the engine is connected already")
        self._connected = _Connected(client, scope, asyncio.get_running_loop(), {})
        for hook in self.all_hooks():
            if hook.id not in self._handlers:
                logger.warning("the hook `%s` has no handler, and so no effect", hook.id)
            self._follow(self._connected, hook.id)
        for hook_id in self._handlers:
            if self.get_hook(hook_id) is None:
                logger.warning("there is a handler for `%s`, but no such hook", hook_id)
        await client.ready()

    def _detach(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def _registration(self, hook: Hook, scope: Scope) -> Registration:
        config = hook.config
        wire = pb.Hook(
            name=hook.id,
            point=POINT_OF[hook.event_type].name,
            role=pb.ROLE_WATCH if config.async_execution else pb.ROLE_HOOK,
            priority=config.priority,
            timeout_ms=config.timeout_ms,
            # A watch decides nothing, so a server does not ask it again.
            max_retries=0 if config.async_execution else config.max_retries,
            detached=config.async_execution,
        )
        if hook.matcher is not None:
            wire.match.CopyFrom(_matcher(hook).to_wire())

        async def respond(event: str, threads: Executor) -> str:
            read = json.loads(event)
            asked = HookEvent(hook.event_type, payload_of(hook.event_type, read))
            if config.async_execution:
                # What is said behind an event comes too late to count.
                await tried_behind(hook, self._handler(hook.id), asked, threads)
                return ""
            answer = read_response(await call(self._handler(hook.id), asked, threads))
            return to_json(verdict_for(hook.id, hook.event_type, answer, read))

        return Registration(wire, scope_of(scope), respond)

    def _handler(self, hook_id: str) -> AnyHandler:
        handler = self._handlers.get(hook_id)
        if handler is None:
            raise HookError(f"the hook `{hook_id}` has no handler any more")
        return handler

    def _changed(self, hook_id: str) -> None:
        connected = self._connected
        if connected is None or connected.client.is_closed:
            return
        if _is_running(connected.loop):
            self._follow(connected, hook_id)
        else:
            asyncio.run_coroutine_threadsafe(self._follow_there(connected, hook_id), connected.loop).result()

    async def _follow_there(self, connected: _Connected, hook_id: str) -> None:
        self._follow(connected, hook_id)
        await connected.client.ready()

    def _follow(self, connected: _Connected, hook_id: str) -> None:
        """Makes the server's hook be what it is here. One without a handler is out of force."""
        hook = self.get_hook(hook_id) if hook_id in self._handlers else None
        if hook is connected.in_force.get(hook_id):
            return
        if connected.in_force.pop(hook_id, None) is not None:
            connected.client.drop(hook_id)
        if hook is not None:
            connected.client.put(self._registration(hook, connected.scope))
            connected.in_force[hook_id] = hook


class HookEngine(Engine):
    """Hooks by their identifier, and the handlers that answer for them.

    `fire` tries them out on one event, without a server. `connect` puts them in force on one; what is registered or
    taken away afterwards follows.
    """

    async def fire(self, event: HookEvent[Any]) -> HookResult:
        """Puts an event to the hooks, and says what came of it and who decided.

        Matchers are evaluated here, which is less than the server does: it also parses command lines and knows all
        names of a tool. A handler that fails or is late blocks where something can be refused. An answer that cannot be
        honoured is a `VerdictError`, here and now; on a server its hook has failed.
        """
        return await self._fire(event)

    async def drain(self) -> None:
        """Waits for the hooks with `async_execution`, which `fire` does not wait for."""
        await self._drain()

    async def connect(self, client: Client, *, scope: Scope = "own") -> None:
        """Puts all hooks in force on the client's server. One without a handler has no effect until it has one."""
        await self._connect(client, scope)


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _matcher(hook: Hook) -> Matcher:
    assert hook.matcher is not None  # noqa: S101 - whoever calls has looked
    fields = hook.matcher.fields
    return Matcher(
        tool=fields.tool or (),
        path=fields.path_pattern or (),
        command=fields.command_pattern or (),
        session=fields.session_id or (),
    )
