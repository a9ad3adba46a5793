"""What can be said of a hook when it is registered, by role and by what the events of its point are about."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from typing_extensions import TypedDict

from .events import StepKind
from .matcher import Matcher, Patterns, Test

FailurePolicy = Literal["open", "closed", "ask"]


class HasId(Protocol):
    """A session."""

    @property
    def id(self) -> str:
        """Its identifier."""
        ...


Scope = Literal["own", "everything"] | HasId
"""Which sessions a hook governs: all of the caller's, all of the server's, or one."""


class _Options(TypedDict, total=False):
    """What holds for every hook."""

    name: str
    """Unless given, that of the function."""
    priority: int
    """Lower runs first; 100 unless given."""
    timeout: float | datetime.timedelta
    """How long an answer may take, in seconds; 30 unless given."""
    before: str | Sequence[str]
    """Runs before these hooks, whatever the priorities. They have to be there: write them first."""
    after: str | Sequence[str]
    """Runs after these hooks, whatever the priorities. They have to be there: write them first."""
    scope: Scope
    """Which sessions it governs; all of the caller's unless given."""
    session: Patterns
    agent: Patterns
    metadata: Mapping[str, Test]
    match: Matcher
    """Anything else that has to hold."""


class _OfCall(TypedDict, total=False):
    tool: Patterns
    path: Patterns
    command: Patterns
    args: Mapping[str, Test]


class _OfStep(TypedDict, total=False):
    step: StepKind


class GuardOptions(_Options, total=False):
    """Of a guard."""

    max_retries: int
    """How often it is asked again when it failed."""
    shadow: bool
    """Decides nothing; what it would have said is in the record."""


class CallGuardOptions(GuardOptions, _OfCall, total=False):
    """Of a guard at a point that is about a call."""


class StepGuardOptions(GuardOptions, _OfStep, total=False):
    """Of a guard at a point that is about a step."""


class HookOptions(GuardOptions, total=False):
    """Of a hook."""

    on_failure: FailurePolicy
    """What a failure counts as; closed where the point can refuse, open elsewhere, unless given."""


class CallHookOptions(HookOptions, _OfCall, total=False):
    """Of a hook at a point that is about a call."""


class StepHookOptions(HookOptions, _OfStep, total=False):
    """Of a hook at a point that is about a step."""


class WatchOptions(_Options, total=False):
    """Of a watch."""

    detached: bool
    """The server does not wait for the handler."""


class CallWatchOptions(WatchOptions, _OfCall, total=False):
    """Of a watch at a point that is about a call."""


class StepWatchOptions(WatchOptions, _OfStep, total=False):
    """Of a watch at a point that is about a step."""
