"""Says when a hook runs. The server decides it: only events that match cross the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import json_format

from .events import StepKind
from .v1 import hooks_pb2 as pb

Patterns = str | Sequence[str]


@dataclass(frozen=True)
class Exists:
    """A place has a value, whatever it is."""


@dataclass(frozen=True)
class Matches:
    """A place has a text that matches a regular expression."""

    pattern: str


Test = Exists | Matches | Any
"""What must hold for a value; anything but `exists()` and `matches(…)` is what it has to be."""


def exists() -> Exists:
    """A place has a value, whatever it is."""
    return Exists()


def matches(pattern: str) -> Matches:
    """A place has a text that matches a regular expression."""
    return Matches(pattern)


@dataclass(frozen=True)
class Matcher:
    """All that is given has to hold; of several patterns in one field one has to.

    `a & b`, `a | b` and `~a` combine matchers.
    """

    tool: Patterns = ()
    """`bash`, `edit|write`, `read_*`, `/regex/`: the whole name, without regard to case, aliases included."""
    path: Patterns = ()
    """Globs over every path among the arguments."""
    command: Patterns = ()
    """Regular expressions over the whole command line and over each simple command inside it."""
    session: Patterns = ()
    agent: Patterns = ()
    step: StepKind | None = None
    metadata: Mapping[str, Test] = field(default_factory=dict[str, Test])
    args: Mapping[str, Test] = field(default_factory=dict[str, Test])
    """By JSON pointer: `{"/timeout": exists()}`."""
    attributes: Mapping[str, Patterns] = field(default_factory=dict[str, Patterns])
    """Attributes of a point of your own: `{"service": "api-*"}`."""
    all_of: Sequence[Matcher] = ()
    any_of: Sequence[Matcher] = ()
    none_of: Matcher | None = None

    def __and__(self, other: Matcher) -> Matcher:
        return Matcher(all_of=(self, other))

    def __or__(self, other: Matcher) -> Matcher:
        return Matcher(any_of=(self, other))

    def __invert__(self) -> Matcher:
        return Matcher(none_of=self)

    def to_wire(self) -> pb.Matcher:
        """The message of the wire."""
        wire = pb.Matcher(
            tool=_list(self.tool),
            path=_list(self.path),
            command=_list(self.command),
            session=_list(self.session),
            agent=_list(self.agent),
            step=self.step or "",
            metadata={key: _test(test) for key, test in self.metadata.items()},
            args={key: _test(test) for key, test in self.args.items()},
            attributes={key: pb.Patterns(any=_list(patterns)) for key, patterns in self.attributes.items()},
            all=[inner.to_wire() for inner in self.all_of],
            any=[inner.to_wire() for inner in self.any_of],
        )
        if self.none_of is not None:
            # The field has the name of a keyword.
            getattr(wire, "not").CopyFrom(self.none_of.to_wire())
        return wire


def _list(patterns: Patterns) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _test(test: Test) -> pb.Test:
    if isinstance(test, Exists):
        return pb.Test(exists=True)
    if isinstance(test, Matches):
        return pb.Test(matches=test.pattern)
    wire = pb.Test()
    json_format.ParseDict(test, wire.equals)
    return wire
