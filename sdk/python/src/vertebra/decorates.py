"""What `client.guard(…)`, `client.on(…)` and `client.watch(…)` give: decorators that know what a point can honour."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar, overload

E = TypeVar("E")
A = TypeVar("A")


class Decorates(Generic[E, A]):
    """A decorator for a function, plain or `async`, from the event of a point to an answer that it can honour."""

    def __init__(self, register: Callable[[Callable[[Any], Any]], None]) -> None:
        self._register = register

    @overload
    def __call__(self, handler: Callable[[E], Coroutine[Any, Any, A]], /) -> Callable[[E], Coroutine[Any, Any, A]]: ...
    @overload
    def __call__(self, handler: Callable[[E], A], /) -> Callable[[E], A]: ...
    def __call__(self, handler: Callable[[Any], Any], /) -> Callable[[Any], Any]:
        """Registers the function, and gives it back as it is."""
        self._register(handler)
        return handler
