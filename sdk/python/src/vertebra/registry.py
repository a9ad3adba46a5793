"""The hooks and handlers of an engine."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from .calling import AnyHandler
from .errors import HookError
from .hook import Hook
from .payloads import HookEvent
from .response import HookResponse, ResponseDict

Response = HookResponse | ResponseDict | None

HookFunction = Callable[[HookEvent[Any]], Response | Awaitable[Response]]
"""A handler that is a function, plain or `async`."""


class HookHandler(Protocol):
    """A handler that is an object."""

    def handle(self, event: HookEvent[Any], /) -> Response | Awaitable[Response]:
        """Answers an event."""
        ...


class HookRegistry:
    """Hooks by their identifier, and the handlers that answer for them. May be used from any thread."""

    def __init__(self) -> None:
        self._hooks: dict[str, Hook] = {}
        self._handlers: dict[str, AnyHandler] = {}
        self._lock = threading.Lock()

    def register(self, hook: Hook | Mapping[str, Any]) -> None:
        """Adds a hook: a `Hook`, or a dictionary of the same. One of the same identifier is replaced."""
        made = hook if isinstance(hook, Hook) else Hook.from_dict(hook)
        with self._lock:
            # One that is replaced takes its new place in the order.
            self._hooks.pop(made.id, None)
            self._hooks[made.id] = made
        self._changed(made.id)

    def unregister(self, hook_id: str) -> Hook | None:
        """Takes a hook away, with its handler. Gives it back if it was there."""
        with self._lock:
            self._handlers.pop(hook_id, None)
            hook = self._hooks.pop(hook_id, None)
        self._changed(hook_id)
        return hook

    def register_handler(self, hook_id: str, handler: HookFunction | HookHandler) -> None:
        """Says who answers for a hook: a function, an `async` function, or an object with `handle`."""
        handle = getattr(handler, "handle", None) or handler
        if not callable(handle):
            raise HookError(f"{handler!r} is not a handler: pass a function, or an object with `handle`")
        with self._lock:
            self._handlers[hook_id] = handle
        self._changed(hook_id)

    def unregister_handler(self, hook_id: str) -> None:
        """Takes the handler of a hook away."""
        with self._lock:
            self._handlers.pop(hook_id, None)
        self._changed(hook_id)

    def all_hooks(self) -> list[Hook]:
        """All hooks, in the order they were registered."""
        with self._lock:
            return list(self._hooks.values())

    def get_hook(self, id: str) -> Hook | None:  # noqa: A002 - the name it has everywhere
        """The hook of this identifier."""
        return self._hooks.get(id)

    def hook_count(self) -> int:
        """How many hooks there are."""
        return len(self._hooks)

    def _changed(self, hook_id: str) -> None:
        """Called after each change; connected clients update the server."""
