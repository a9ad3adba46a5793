"""`HookEngine` without `async`."""

from __future__ import annotations

import asyncio
from typing import Any

from ..engine import Engine
from ..firing import HookResult
from ..options import Scope
from ..payloads import HookEvent
from .client import Client


class HookEngine(Engine):
    """Hooks by their identifier, and the handlers that answer for them."""

    def fire(self, event: HookEvent[Any]) -> HookResult:
        """Puts an event to the hooks, waits for all of them, and says what came of it and who decided."""

        async def whole() -> HookResult:
            result = await self._fire(event)
            await self._drain()
            return result

        return asyncio.run(whole())

    def connect(self, client: Client, *, scope: Scope = "own") -> None:
        """Puts all hooks in force on the client's server. One without a handler has no effect until it has one."""
        client.portal.run(self._connect(client.inner, scope))
