"""A client of a Vertebra server."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, cast

from typing_extensions import Self

from ._registers import Registers
from .answers import Role
from .approvals import Approvals
from .attach import Attachment
from .errors import VertebraError
from .judgement import Fired, Judgement
from .news import Record
from .point import Point
from .registration import Registration, registration
from .rpc import Rpc
from .sessions import Link, Sessions
from .transport import Endpoint, Tls
from .unbroken import unbroken
from .v1 import hooks_pb2 as hooks_pb
from .v1 import records_pb2 as records_pb
from .version import AGENT


@dataclass(frozen=True)
class RecordLine:
    """A line of a session's journal."""

    number: int
    kind: str
    data: dict[str, Any]
    """The line as it is exported."""


@dataclass(frozen=True)
class HookInfo:
    """A hook in force."""

    name: str
    point: str
    role: Literal["hook", "guard", "watch", "unknown"]
    priority: int
    client_id: str
    """The client that answers for it; empty if it is the server's own."""
    enabled: bool


# How many seconds the server has to say that hooks are out of force when a client leaves.
_LEAVING = 2.0

_ROLES: dict[int, Literal["hook", "guard", "watch"]] = {
    hooks_pb.ROLE_HOOK: "hook",
    hooks_pb.ROLE_GUARD: "guard",
    hooks_pb.ROLE_WATCH: "watch",
}


class Client(Registers):
    """A connection to a server. Made by `connect`, used with `async with`.

    Hooks are registered by decorators, at any time:

        @client.guard("BeforeToolUse", tool="bash")
        async def no_force(event: BeforeToolUseEvent) -> Deny | None:
            if "--force" in event["args"]["command"]:
                return deny("force is for humans")

    Whatever is done with the client afterwards waits until they are in force, and raises if the server refused one.
    """

    def __init__(self, endpoint: Endpoint, *, client_id: str, patience: float) -> None:
        self._endpoint = endpoint
        self._patience = patience
        self._rpc: Rpc | None = None
        self._closed = False
        self.client_id = client_id
        """The name under which the server keeps its hooks while it is lost."""
        self._attachment = Attachment(lambda frames: self._open().attach(frames), client_id, AGENT)
        self.sessions = Sessions(Link(self._open, self.ready))
        """The sessions that the caller may see."""
        self.approvals = Approvals(self._open)
        """The questions that wait for a person."""

    async def __aenter__(self) -> Self:
        self._open()
        self._attachment.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, *, leave_hooks: bool = False) -> None:
        """Takes the hooks out of force and ends the connection.

        Runs that go on afterwards are no longer governed from here. With `leave_hooks` they are: what the hooks would
        be asked waits for a client that comes back under the same `client_id`, and is refused if none does.
        """
        if not leave_hooks and not self._closed:
            await self._attachment.take_back(_LEAVING)
        self._closed = True
        await self._attachment.close()
        if self._rpc is not None:
            await self._rpc.close()

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be done with it any more."""
        return self._closed

    async def ready(self) -> None:
        """Waits until every hook is in force. `RegistrationError` if the server refused one."""
        self._open()
        await self._attachment.settled(self._patience)

    async def unregister(self, name: str) -> bool:
        """Takes a hook out of force. Says whether there was one of this name."""
        was_there = self._attachment.drop(name)
        await self.ready()
        return was_there

    async def fire(self, event: Mapping[str, object], *, session_id: str = "") -> Fired:
        """Puts one event to the hooks that govern a session, or to one's own, and says what came of it.

        The event is in its wire form; `point` has to be there, and what else is left out has its usual value.
        """
        await self.ready()
        request = hooks_pb.FireRequest(event_json=json.dumps(event), session_id=session_id)
        answer = await self._open().fire(request)
        return Fired(
            judgement=cast("Judgement", json.loads(answer.judgement_json)),
            record=cast("Record", json.loads(answer.record_json)),
        )

    async def hooks(self, session_id: str = "") -> list[HookInfo]:
        """The hooks in force, in the order they run."""
        await self.ready()
        answer = await self._open().list_hooks(hooks_pb.ListHooksRequest(session_id=session_id))
        return [
            HookInfo(
                name=hook.name,
                point=hook.point,
                role=_ROLES.get(hook.role, "unknown"),
                priority=hook.priority,
                client_id=hook.client_id,
                enabled=hook.enabled,
            )
            for hook in answer.hooks
        ]

    async def records(
        self, session_id: str, *, after: int = 0, kinds: Sequence[str] = (), follow: bool = False
    ) -> AsyncIterator[RecordLine]:
        """The lines of a session's journal, in order; with `follow`, also those to come."""

        def read(after: int) -> AsyncIterator[records_pb.RecordLine]:
            request = records_pb.ReadRecordsRequest(session_id=session_id, after=after, kinds=kinds, follow=follow)
            return self._open().read_records(request)

        async for line in unbroken(read, after):
            yield RecordLine(line.number, line.kind, json.loads(line.json))

    def put(self, hook: Registration) -> None:
        """Registers a complete hook. Decorators and engines call this."""
        self._attachment.put(hook)
        if self._rpc is not None and _on_a_loop():
            self._attachment.start()

    def drop(self, name: str) -> None:
        """Takes a hook out of force; `ready` tells when it is."""
        self._attachment.drop(name)

    def _register(
        self, role: Role, point: str | Point, options: Mapping[str, Any], handler: Callable[[Any], Any]
    ) -> None:
        self.put(registration(role, point, options, handler))

    def _open(self) -> Rpc:
        if self._closed:
            raise VertebraError("the client is closed")
        if self._rpc is None:
            self._rpc = Rpc(self._endpoint, self._patience)
        return self._rpc


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def connect(
    address: str,
    *,
    token: str | None = None,
    tls: Tls | bool = False,
    client_id: str | None = None,
    patience: float = 10.0,
) -> Client:
    """A client of the server at `host:port`, `tcp://host:port` or `unix:///path`.

    Over TCP the caller is known by a token or, with `tls=Tls(cert=…, key=…)`, by a certificate; over a Unix socket the
    system says who it is. A process that comes back under the same `client_id` takes up its hooks and the events that
    wait for them. `patience` is how many seconds to wait for a server that is not there, and for hooks to be in force.
    """
    name = client_id or f"python-{uuid.uuid4().hex[:12]}"
    return Client(Endpoint.parse(address, token, tls), client_id=name, patience=patience)
