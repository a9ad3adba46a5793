"""An event loop in its own thread, and calls into it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from ..errors import VertebraError

T = TypeVar("T")


class Portal:
    """Runs coroutines on a loop in the background. May be used from any thread but that one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._open = True
        # Work is put on the loop before the loop is asked to end, or not at all.
        self._entering = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="vertebra-loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns the result of the coroutine. Interrupting the wait cancels the coroutine."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("an async handler cannot wait for the loop it runs on: use a plain function")
        with self._entering:
            if not self._open:
                work.close()
                raise VertebraError("the client is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise VertebraError("the client was closed") from None
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Returns the result of a function that must be called on the loop."""

        async def there() -> T:
            return function()

        return self.run(there())

    def iterate(self, make: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
        """Yields the items of an asynchronous iterator. It is closed when the caller stops reading."""
        parts = self.call(make)

        async def end() -> None:
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()

        try:
            yield from self.take(parts)
        finally:
            if self.is_open:
                self.run(end())

    def take(self, parts: AsyncIterator[T]) -> Iterator[T]:
        """Yields the items of an asynchronous iterator. Another reader may take the rest."""

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
        return self._open

    def close(self) -> None:
        """Ends the loop and its thread. Calls waiting in other threads get an error."""
        with self._entering:
            self._open = False
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _work(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(_end_all())
        self._loop.close()


async def _end_all() -> None:
    """Ends whatever else is at work on this loop."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
