"""A loop in a thread of its own, and the way there and back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """Runs coroutines on a loop in the background. May be used from any thread but that one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vertebra-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine comes to. If the wait is broken off, so is the coroutine."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("an async handler cannot wait for the loop it runs on: use a plain function")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """What a function comes to that has to be called on the loop."""

        async def there() -> T:
            return function()

        return self.run(there())

    def iterate(self, make: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
        """The parts of an asynchronous iterator, one by one. It ends when nobody wants more of it."""
        parts = self.call(make)

        async def end() -> None:
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()

        try:
            yield from self.take(parts)
        finally:
            self.run(end())

    def take(self, parts: AsyncIterator[T]) -> Iterator[T]:
        """The parts of an asynchronous iterator, one by one. Somebody else may take the rest."""

        async def following() -> tuple[T] | None:
            try:
                return (await parts.__anext__(),)
            except StopAsyncIteration:
                return None

        while (part := self.run(following())) is not None:
            yield part[0]

    @property
    def is_open(self) -> bool:
        """Whether anything can be run."""
        return not self._loop.is_closed()

    def close(self) -> None:
        """Ends the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
