"""A client without `async`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from typing_extensions import Self

from .. import approvals as aio_approvals
from .. import client as aio
from .._registers import Registers
from ..answers import Role
from ..approvals import Approval, Decision, Settled
from ..client import HookInfo, RecordLine
from ..judgement import Fired
from ..point import Point
from ..registration import registration
from ..transport import Tls
from .portal import Portal
from .sessions import Sessions


class Approvals:
    """The questions that wait, in the sessions that the caller may see."""

    def __init__(self, portal: Portal, approvals: aio_approvals.Approvals) -> None:
        self._portal = portal
        self._approvals = approvals

    def list(self, session_id: str = "") -> list[Approval]:
        """Those that wait, of one session or of all."""
        return self._portal.run(self._approvals.list(session_id))

    def watch(self, session_id: str = "") -> Iterator[Approval | Settled]:
        """Those that wait, then each as it is put and as it is settled."""
        return self._portal.iterate(lambda: self._approvals.watch(session_id))

    def answer(self, approval: Approval, decision: Decision) -> bool:
        """Answers one. Says whether a run took it; if not, it waits in the journal."""
        return self._portal.run(self._approvals.answer(approval, decision))


class Client(Registers):
    """A connection to a server. Made by `connect`, used with `with`."""

    def __init__(self, client: aio.Client, portal: Portal) -> None:
        self.portal = portal
        """The loop in the background."""
        self.inner = client
        """The client that does the work, on that loop."""
        self.sessions = Sessions(portal, client.sessions)
        self.approvals = Approvals(portal, client.approvals)

    @property
    def client_id(self) -> str:
        """The name under which the server keeps its hooks while it is lost."""
        return self.inner.client_id

    def __enter__(self) -> Self:
        self.portal.run(self.inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, *, leave_hooks: bool = False) -> None:
        """Takes the hooks out of force and ends the connection. See `vertebra.Client.close`."""
        if self.portal.is_open:
            self.portal.run(self.inner.close(leave_hooks=leave_hooks))
            self.portal.close()

    def ready(self) -> None:
        """Waits until every hook is in force."""
        self.portal.run(self.inner.ready())

    def unregister(self, name: str) -> bool:
        """Takes a hook out of force. Says whether there was one of this name."""
        return self.portal.run(self.inner.unregister(name))

    def fire(self, event: Mapping[str, object], *, session_id: str = "") -> Fired:
        """Puts one event to the hooks that govern a session, or to one's own, and says what came of it."""
        return self.portal.run(self.inner.fire(event, session_id=session_id))

    def hooks(self, session_id: str = "") -> list[HookInfo]:
        """The hooks in force, in the order they run."""
        return self.portal.run(self.inner.hooks(session_id))

    def records(
        self, session_id: str, *, after: int = 0, kinds: Sequence[str] = (), follow: bool = False
    ) -> Iterator[RecordLine]:
        """The lines of a session's journal, in order; with `follow`, also those to come."""
        return self.portal.iterate(lambda: self.inner.records(session_id, after=after, kinds=kinds, follow=follow))

    def _register(
        self, role: Role, point: str | Point, options: Mapping[str, Any], handler: Callable[[Any], Any]
    ) -> None:
        hook = registration(role, point, options, handler)

        async def there() -> None:
            self.inner.put(hook)
            try:
                await self.inner.ready()
            except BaseException:
                # The error tells the caller that the hook is not registered.
                self.inner.drop(hook.hook.name)
                raise

        self.portal.run(there())


def connect(
    address: str,
    *,
    token: str | None = None,
    tls: Tls | bool = False,
    client_id: str | None = None,
    patience: float = 10.0,
) -> Client:
    """A client of the server at `host:port`, `tcp://host:port` or `unix:///path`. See `vertebra.connect`."""
    made = aio.connect(address, token=token, tls=tls, client_id=client_id, patience=patience)
    return Client(made, Portal())
