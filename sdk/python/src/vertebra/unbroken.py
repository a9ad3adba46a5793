"""Streams that are taken up where they were lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol, TypeVar

from .errors import ConnectionLost


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
