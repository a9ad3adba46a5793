"""What is known of a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

About = Literal["neither", "call", "step"]
"""What the events of a point are about, and so what can be matched there."""

ARGS = "args"
"""What is open at a point where all arguments of a call may be changed."""


@dataclass(frozen=True)
class Point:
    """A named place in the life of an agent where hooks run."""

    name: str
    verdicts: tuple[str, ...] = ()
    """What it can honour, besides `proceed` and `skip`."""
    opens: str | tuple[str, ...] = ()
    """What an answer may change: `ARGS`, or these fields."""
    guards: bool = True
    """Whether a guard is possible at this point."""
    attributes: tuple[str, ...] = ()
    """What matchers may test."""
    aliases: tuple[str, ...] = ()
    """Other names, as other agents write them."""

    @property
    def about(self) -> About:
        """What the events are about, and so what can be matched."""
        if "tool" in self.attributes:
            return "call"
        return "step" if "step" in self.attributes else "neither"

    def honours(self, word: str) -> bool:
        """Whether this verdict can be answered here."""
        return word in ("proceed", "skip") or word in self.verdicts

    @property
    def can_refuse(self) -> bool:
        """Whether something can still be kept from happening, so that hooks fail closed unless told otherwise."""
        return "deny" in self.verdicts or "halt" in self.verdicts


def own_point(
    name: str,
    *,
    verdicts: Sequence[str] = (),
    attributes: Sequence[str] = (),
    changes: Sequence[str] = (),
) -> Point:
    """Returns a point that the server's program or its `vertebra.toml` declares, for `client.guard` and its like.

    `verdicts` are its powers, `attributes` its attributes, `changes` the fields that hooks may change, all as they are
    declared. The server has the last word: a hook that does not fit the declaration is an error there.
    """
    return Point(
        name,
        tuple(verdicts),
        opens=tuple(changes),
        guards=bool(verdicts),
        attributes=(*attributes, "session", "agent"),
    )
