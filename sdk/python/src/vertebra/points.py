"""The points of an agent's life: what each can honour, and what an answer may change there."""

from __future__ import annotations

import difflib

from ._table import POINTS
from .errors import PointError
from .point import ARGS, Point, own_point

__all__ = ["ARGS", "POINTS", "Point", "did_you_mean", "own_point", "point_named"]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


_BY_SPELLING = {_plain(name): point for point in POINTS.values() for name in (point.name, *point.aliases)}


def point_named(name: str) -> Point:
    """The point of this name or alias, in `PascalCase`, `camelCase`, `snake_case` or `kebab-case`.

    Raises `PointError` if there is none.
    """
    found = _BY_SPELLING.get(_plain(name))
    if found is None:
        known = [name for point in POINTS.values() for name in (point.name, *point.aliases)]
        raise PointError(f"unknown point `{name}`{did_you_mean(name, known)}")
    return found


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of a message about a name that is not known."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""
