"""Streams that are taken up where they were lost."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from typing import Protocol, TypeVar

from .errors import ConnectionLost

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class Pauses:
    """How many seconds to wait before each attempt to come back: twice as long each time, up to five."""

    def __init__(self) -> None:
        self._next = _FIRST_PAUSE

    def next(self) -> float:
        """The pause before the next attempt. A part of it is left to chance, so that not all come back at once."""
        pause, self._next = self._next, min(self._next * 2, _LONGEST_PAUSE)
        return pause * random.uniform(0.8, 1.2)  # noqa: S311 - nobody gains by guessing it

    def begin_anew(self) -> None:
        """The server is there again: the next loss is another one."""
        self._next = _FIRST_PAUSE


class Numbered(Protocol):
    """A part of a stream, with its place in it."""

    @property
    def number(self) -> int:
        """Its place."""
        ...


N = TypeVar("N", bound=Numbered)


async def unbroken(after_number: Callable[[int], AsyncIterator[N]], after: int) -> AsyncIterator[N]:
    """The parts after a number, without gaps. What is lost once is taken up again; lost twice in a row, it is lost."""
    is_lost = False
    while True:
        try:
            async for part in after_number(after):
                after, is_lost = part.number, False
                yield part
        except ConnectionLost:
            if is_lost:
                raise
            is_lost = True
        else:
            return
