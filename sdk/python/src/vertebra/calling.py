"""Calling what others wrote: coroutines on the loop, plain functions in a thread, so that they do not hold it up."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

AnyHandler = Callable[[Any], Any]


async def call(handler: AnyHandler, event: Any, threads: Executor | None = None) -> Any:
    """What the handler answers."""
    if is_async(handler):
        return await handler(event)
    context = contextvars.copy_context()
    answer = await asyncio.get_running_loop().run_in_executor(threads, lambda: context.run(handler, event))
    return await answer if inspect.isawaitable(answer) else answer


def is_async(handler: AnyHandler) -> bool:
    """Whether calling it only makes a coroutine."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004
