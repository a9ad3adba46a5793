"""Sessions: conversations with an agent that runs in the server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from .news import News, SessionReport
from .rpc import Rpc
from .run import Run, read_news
from .unbroken import unbroken
from .v1 import sessions_pb2 as pb

Status = Literal["idle", "running", "suspended", "closed", "unknown"]

WhenLost = Literal["go_on", "suspend"]

_STATUS: dict[int, Status] = {
    pb.SESSION_STATUS_IDLE: "idle",
    pb.SESSION_STATUS_RUNNING: "running",
    pb.SESSION_STATUS_SUSPENDED: "suspended",
    pb.SESSION_STATUS_CLOSED: "closed",
}
_WHEN_LOST: dict[WhenLost | None, pb.WhenLost] = {
    None: pb.WHEN_LOST_UNSPECIFIED,
    "go_on": pb.WHEN_LOST_GO_ON,
    "suspend": pb.WHEN_LOST_SUSPEND,
}


@dataclass(frozen=True)
class SessionInfo:
    """What the server said of a session, at the time it was asked."""

    id: str
    status: Status
    owner: str
    folder: str
    labels: dict[str, str]
    last_event: int
    unfinished_run: str

    @staticmethod
    def read(wire: pb.Session) -> SessionInfo:
        """From the message of the wire."""
        return SessionInfo(
            id=wire.id,
            status=_STATUS.get(wire.status, "unknown"),
            owner=wire.owner,
            folder=wire.folder,
            labels=dict(wire.labels),
            last_event=wire.last_event,
            unfinished_run=wire.unfinished_run,
        )


@dataclass(frozen=True)
class Link:
    """What sessions need of a client."""

    rpc: Callable[[], Rpc]
    ready: Callable[[], Awaitable[None]]
    """Returns when every hook is in force."""


class Session:
    """A session."""

    def __init__(self, link: Link, info: SessionInfo) -> None:
        self._link = link
        self.info = info
        """What the server said of it last."""

    @property
    def id(self) -> str:
        """Its identifier."""
        return self.info.id

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {self.info.status})"

    def prompt(self, text: str) -> Run:
        """Asks the agent. The hooks that were registered before are in force."""

        async def begin() -> AsyncIterator[pb.SessionEvent]:
            await self._link.ready()
            async for event in self._link.rpc().prompt(pb.PromptRequest(session_id=self.id, text=text)):
                yield event

        return Run(begin, self._after)

    def resume(self) -> Run:
        """Takes up the run that another process left, or that was suspended, and finishes it."""

        async def begin() -> AsyncIterator[pb.SessionEvent]:
            await self._link.ready()
            async for event in self._link.rpc().resume(pb.ResumeRequest(session_id=self.id)):
                yield event

        return Run(begin, self._after)

    async def events(self, after: int = 0) -> AsyncIterator[News]:
        """What happened after this number, then what happens, until the session is closed."""
        async for event in self._after(after):
            yield read_news(event)

    async def cancel(self) -> bool:
        """Asks the run that is under way to end. Says whether there was one."""
        answer = await self._link.rpc().cancel(pb.CancelRequest(session_id=self.id))
        return answer.was_running

    async def refresh(self) -> SessionInfo:
        """Asks the server how it stands."""
        self.info = SessionInfo.read(await self._link.rpc().get_session(pb.GetSessionRequest(session_id=self.id)))
        return self.info

    async def close(self) -> SessionReport:
        """Ends the session and returns its totals."""
        answer = await self._link.rpc().close_session(pb.CloseSessionRequest(session_id=self.id))
        return cast("SessionReport", json.loads(answer.report_json))

    def _after(self, number: int) -> AsyncIterator[pb.SessionEvent]:
        events = self._link.rpc().events
        return unbroken(lambda after: events(pb.EventsRequest(session_id=self.id, after=after)), number)


class Sessions:
    """The sessions of a server that the caller may see."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def create(
        self,
        *,
        folder: str = "",
        system_prompt: str = "",
        when_lost: WhenLost | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Session:
        """Opens a session. The hooks that were registered before are in force.

        `folder` is worked in, under the one that the server was started for. `when_lost` says what becomes of runs when
        this client is lost for longer than the server waits.
        """
        await self._link.ready()
        request = pb.CreateSessionRequest(
            folder=folder, system_prompt=system_prompt, when_lost=_WHEN_LOST[when_lost], labels=labels or {}
        )
        return Session(self._link, SessionInfo.read(await self._link.rpc().create_session(request)))

    async def get(self, session_id: str) -> Session:
        """The session of this identifier."""
        wire = await self._link.rpc().get_session(pb.GetSessionRequest(session_id=session_id))
        return Session(self._link, SessionInfo.read(wire))

    def resume(self, session_id: str) -> Run:
        """Takes up a session that waits in the journal, and finishes the run that has no end."""
        info = SessionInfo(session_id, "suspended", "", "", {}, 0, "")
        return Session(self._link, info).resume()

    async def list(self, *, labels: Mapping[str, str] | None = None, limit: int = 100) -> list[Session]:
        """The sessions with these labels: those that are open, and those that wait in the journal."""
        request = pb.ListSessionsRequest(labels=labels or {}, limit=limit)
        answer = await self._link.rpc().list_sessions(request)
        return [Session(self._link, SessionInfo.read(wire)) for wire in answer.sessions]
