"""A hook to register on the server, with the handler that answers for it here."""

from __future__ import annotations

import datetime
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from .answers import Role, to_json, wire_answer
from .calling import AnyHandler, call
from .errors import HookError, PointError
from .matcher import Matcher
from .options import FailurePolicy, Scope
from .points import Point, did_you_mean, point_named
from .v1 import hooks_pb2 as pb

ROLES: dict[Role, pb.Role] = {"hook": pb.ROLE_HOOK, "guard": pb.ROLE_GUARD, "watch": pb.ROLE_WATCH}

POLICIES: dict[FailurePolicy | None, pb.FailurePolicy] = {
    None: pb.FAILURE_POLICY_UNSPECIFIED,
    "open": pb.FAILURE_POLICY_OPEN,
    "closed": pb.FAILURE_POLICY_CLOSED,
    "ask": pb.FAILURE_POLICY_ASK,
}

_MATCHED = ("tool", "path", "command", "session", "agent", "step", "metadata", "args")
_COMMON = (
    "name",
    "priority",
    "timeout",
    "before",
    "after",
    "scope",
    "match",
    "session",
    "agent",
    "metadata",
)
_OF_ROLE: dict[Role, tuple[str, ...]] = {
    "hook": ("max_retries", "shadow", "on_failure"),
    "guard": ("max_retries", "shadow"),
    "watch": ("detached",),
}
_OF_ABOUT = {"neither": (), "call": ("tool", "path", "command", "args"), "step": ("step",)}


@dataclass(frozen=True)
class Registration:
    """A hook, which sessions it governs, and who answers."""

    hook: pb.Hook
    scope: pb.Scope
    respond: Callable[[str, Executor], Awaitable[str]]
    """From the event to the answer, both as JSON. Whatever it raises is the hook's failure."""


def registration(role: Role, where: str | Point, options: Mapping[str, Any], handler: AnyHandler) -> Registration:
    """Returns a hook from the arguments of a decorator."""
    point = where if isinstance(where, Point) else point_named(where)
    check(role, point, options)

    async def respond(event: str, threads: Executor) -> str:
        answer = await call(handler, json.loads(event), threads)
        return to_json(wire_answer(point, role, answer))

    hook = pb.Hook(
        name=options.get("name") or _name_of(handler),
        point=point.name,
        role=ROLES[role],
        priority=options.get("priority"),
        before=_names(options.get("before", ())),
        after=_names(options.get("after", ())),
        timeout_ms=_milliseconds(options.get("timeout")),
        max_retries=options.get("max_retries", 0),
        on_failure=POLICIES[options.get("on_failure")],
        shadow=options.get("shadow", False),
        detached=options.get("detached", False),
    )
    matcher = _matcher(point, options)
    if matcher is not None:
        hook.match.CopyFrom(matcher.to_wire())
    return Registration(hook, scope_of(options.get("scope", "own")), respond)


def check(role: Role, point: Point, options: Mapping[str, Any]) -> None:
    """Checks that the hook is possible at the point, and that all its options apply."""
    if role == "guard" and not point.guards:
        raise PointError(f"a guard is not possible at {point.name}: nothing can be refused there; use `on` or `watch`")
    known = [*_COMMON, *_OF_ROLE[role], *_OF_ABOUT[point.about], *_own_attributes(point)]
    wrong = next((key for key in options if key not in known), None)
    if wrong is not None:
        raise HookError(f"a {role} at {point.name} has no option `{wrong}`{did_you_mean(wrong, known)}")
    if options.get("on_failure") not in POLICIES:
        raise HookError("`on_failure` is 'open', 'closed' or 'ask'")


def scope_of(scope: Scope) -> pb.Scope:
    """The message of the wire."""
    if scope == "own":
        return pb.Scope(own=pb.Scope.Own())
    if scope == "everything":
        return pb.Scope(everything=pb.Scope.Everything())
    if isinstance(scope, str):
        raise HookError(f"`scope` is 'own', 'everything' or a session, not {scope!r}")
    return pb.Scope(session_id=scope.id)


def _name_of(handler: AnyHandler) -> str:
    name = getattr(handler, "__name__", None) or type(handler).__name__
    if name == "<lambda>":
        raise HookError("a lambda has no name: pass `name=`")
    return name


def _names(names: str | tuple[str, ...]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _milliseconds(timeout: float | datetime.timedelta | None) -> int | None:
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout
    if seconds <= 0:
        raise HookError("`timeout` is more than 0 seconds")
    return max(1, round(seconds * 1000))


def _own_attributes(point: Point) -> list[str]:
    """The attributes of a custom point that no built-in point has."""
    return [key for key in point.attributes if key not in _MATCHED]


def _matcher(point: Point, options: Mapping[str, Any]) -> Matcher | None:
    given = {key: options[key] for key in _MATCHED if key in options}
    own = {key: options[key] for key in _own_attributes(point) if key in options}
    if own:
        given["attributes"] = own
    more: Matcher | None = options.get("match")
    if not given:
        return more
    return Matcher(**given) if more is None else Matcher(**given, all_of=(more,))
