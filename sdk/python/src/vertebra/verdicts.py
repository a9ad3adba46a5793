"""What hooks answer: a verdict, and what changes with it.

A verdict alone decides. `allow().patch({"timeout_ms": 5000})` also changes the event, `proceed().add_context("…")`
tells the model something. What each point can honour is in its type: a type checker finds an answer that a point
cannot take, and the same is an error when the handler returns it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import replace as _with
from typing import Any, ClassVar, Generic, TypeVar

from typing_extensions import Self

from .events import ModelResponse, ToolResult


class Verdict:
    """What is decided; by itself it changes nothing."""

    word: ClassVar[str]

    def modify(self, value: Mapping[str, object], /) -> Edited[Self]:
        """Also replaces what may be changed at the point: all arguments of a call, or the fields that are named."""
        return Edited(self, modified=dict(value))

    def patch(self, value: Mapping[str, object], /) -> Edited[Self]:
        """Also changes it as a JSON merge patch says: `None` takes a key away."""
        return Edited(self, patched=dict(value))

    def set(self, **fields: object) -> Edited[Self]:
        """Also puts single arguments, or fields, in place of those there are."""
        return Edited(self, fields=fields)

    def add_context(self, *texts: str) -> Told[Self]:
        """Also adds a message for the model."""
        return Told(self, context=texts)

    def leave(self, note: object, /) -> Told[Self]:
        """Also leaves a note for later hooks."""
        return Told(self, notes=(note,))


V_co = TypeVar("V_co", bound=Verdict, covariant=True)
W_co = TypeVar("W_co", covariant=True)


@dataclass(frozen=True)
class Edited(Generic[V_co]):
    """A verdict with changes to the event."""

    verdict: V_co
    modified: dict[str, object] | None = None
    patched: dict[str, object] | None = None
    fields: dict[str, object] | None = None
    context: tuple[str, ...] = ()
    notes: tuple[object, ...] = ()

    def add_context(self, *texts: str) -> Self:
        """Also adds a message for the model."""
        return _with(self, context=(*self.context, *texts))

    def leave(self, note: object, /) -> Self:
        """Also leaves a note for later hooks."""
        return _with(self, notes=(note,))


@dataclass(frozen=True)
class Told(Edited[V_co]):
    """A verdict with something for the model or for later hooks. The event stays as it is."""

    modified: None = field(default=None, init=False)
    patched: None = field(default=None, init=False)
    fields: None = field(default=None, init=False)

    def modify(self, value: Mapping[str, object], /) -> Edited[V_co]:
        """Also replaces what may be changed at the point."""
        return Edited(self.verdict, modified=dict(value), context=self.context, notes=self.notes)

    def patch(self, value: Mapping[str, object], /) -> Edited[V_co]:
        """Also changes it as a JSON merge patch says."""
        return Edited(self.verdict, patched=dict(value), context=self.context, notes=self.notes)

    def set(self, **fields: object) -> Edited[V_co]:
        """Also puts single arguments, or fields, in place of those there are."""
        return Edited(self.verdict, fields=fields, context=self.context, notes=self.notes)


@dataclass(frozen=True)
class Proceed(Verdict):
    """No opinion."""

    word: ClassVar[str] = "proceed"


@dataclass(frozen=True)
class Skip(Verdict):
    """No opinion, and the hooks after this one need not run. Guards run all the same."""

    word: ClassVar[str] = "skip"


@dataclass(frozen=True)
class Allow(Verdict):
    """The operation needs no permission."""

    word: ClassVar[str] = "allow"


@dataclass(frozen=True)
class Ask(Verdict):
    """A person has to decide."""

    word: ClassVar[str] = "ask"
    reason: str


@dataclass(frozen=True)
class Deny(Verdict):
    """The operation must not happen."""

    word: ClassVar[str] = "deny"
    reason: str


@dataclass(frozen=True)
class Stop(Verdict):
    """The run ends, softly."""

    word: ClassVar[str] = "stop"
    reason: str


@dataclass(frozen=True)
class Halt(Verdict):
    """The stream ends here."""

    word: ClassVar[str] = "halt"
    reason: str


@dataclass(frozen=True)
class Hold(Verdict):
    """The piece is kept back for now."""

    word: ClassVar[str] = "hold"


@dataclass(frozen=True)
class GoOn(Verdict):
    """The run continues."""

    word: ClassVar[str] = "go_on"
    instruction: str


@dataclass(frozen=True)
class Retry(Verdict):
    """Wait, then try again."""

    word: ClassVar[str] = "retry"
    after_ms: int


@dataclass(frozen=True)
class Replace(Verdict, Generic[W_co]):
    """Here is the result: the operation need not happen."""

    word: ClassVar[str] = "replace"
    result: W_co


@dataclass(frozen=True)
class Recover(Verdict, Generic[W_co]):
    """The failure is made good."""

    word: ClassVar[str] = "recover"
    result: W_co


def proceed() -> Proceed:
    """No opinion: the event proceeds. The same as returning `None`."""
    return Proceed()


def skip() -> Skip:
    """No opinion, and the hooks after this one need not run. Guards run all the same."""
    return Skip()


def allow() -> Allow:
    """The operation needs no permission. Denies still win."""
    return Allow()


def ask(reason: str = "") -> Ask:
    """A person must approve; the call is blocked if there is no approver."""
    return Ask(reason)


def deny(reason: str = "") -> Deny:
    """The operation must not happen; the model reads the reason."""
    return Deny(reason)


def stop(reason: str = "") -> Stop:
    """End the run, softly: a hook that says `go_on` may still win."""
    return Stop(reason)


def halt(reason: str = "") -> Halt:
    """End the stream: this piece and all after it are withheld."""
    return Halt(reason)


def hold() -> Hold:
    """Keep this piece back; it comes again together with the next one."""
    return Hold()


def go_on(instruction: str) -> GoOn:
    """Continues with an instruction for the model. Overrides every soft stop, never a hard one."""
    return GoOn(instruction)


def retry(after: float | datetime.timedelta = 0) -> Retry:
    """Wait so many seconds, then try again. Bounded by the operation's retry limit."""
    seconds = after.total_seconds() if isinstance(after, datetime.timedelta) else after
    if seconds < 0:
        raise ValueError(f"cannot wait {seconds} seconds")
    return Retry(round(seconds * 1000))


W = TypeVar("W", str, ToolResult, ModelResponse)


def replace(result: W) -> Replace[W]:
    """Here is the result: the operation need not happen. A text, `tool_result(…)` or a `ModelResponse`."""
    return Replace(result)


R = TypeVar("R", str, ToolResult)


def recover(result: R) -> Recover[R]:
    """The failure is made good by this. A text or `tool_result(…)`."""
    return Recover(result)


def modify(value: Mapping[str, object], /) -> Edited[Proceed]:
    """Replaces what may be changed at the point: all arguments of a call, or the fields that are named."""
    return Proceed().modify(value)


def patch(value: Mapping[str, object], /) -> Edited[Proceed]:
    """Changes it as a JSON merge patch says: `None` takes a key away."""
    return Proceed().patch(value)


def set_(**fields: object) -> Edited[Proceed]:
    """Puts single arguments, or fields, in place of those there are."""
    return Proceed().set(**fields)


def add_context(*texts: str) -> Told[Proceed]:
    """Adds a message for the model."""
    return Proceed().add_context(*texts)


def tool_result(output: str, *, success: bool = True, exit_code: int | None = None, data: Any = None) -> ToolResult:
    """A result as if the tool had run and said this."""
    result = ToolResult(status="done", success=success, output=output, duration_ms=0)
    if exit_code is not None:
        result["exit_code"] = exit_code
    if data is not None:
        result["data"] = data
    return result


# What each kind of point can honour. `Noted` decides nothing: hooks may change, watches may see.
Noted = Proceed | Skip
Refusable = Proceed | Skip | Deny
Stoppable = Proceed | Skip | Stop
InferenceVerdict = Proceed | Skip | Deny | Replace[str] | Replace[ModelResponse] | Retry | Stop
DeltaVerdict = Proceed | Skip | Hold | Halt
RepeatVerdict = Proceed | Skip | Retry | Stop
ToolVerdict = Proceed | Skip | Allow | Ask | Deny | Replace[str] | Replace[ToolResult] | Retry | Stop
PermissionVerdict = Proceed | Skip | Allow | Deny
FailureVerdict = Proceed | Skip | Recover[str] | Recover[ToolResult] | Retry | Stop
ContinueVerdict = Proceed | Skip | Stop | GoOn
ErrorVerdict = Proceed | Skip | Recover[str] | Stop
SubagentVerdict = Proceed | Skip | GoOn
