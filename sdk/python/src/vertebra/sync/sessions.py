"""Sessions without `async`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import run as aio_run
from .. import sessions as aio
from ..news import News, RunReport, SessionReport
from ..sessions import SessionInfo, WhenLost
from .portal import Portal


class Run:
    """A run that is under way. Iterate over it to see what happens, or wait for its `result()`."""

    def __init__(self, portal: Portal, run: aio_run.Run) -> None:
        self._portal = portal
        self._run = run

    def __iter__(self) -> Iterator[News]:
        return self._portal.take(self._portal.call(self._run.__aiter__))

    def result(self) -> RunReport:
        """Waits for the end. `RunFailed` if the run failed."""
        return self._portal.run(self._run.result())

    def text(self) -> str:
        """The last thing that the model said."""
        return self._portal.run(self._run.text())


class Session:
    """A session."""

    def __init__(self, portal: Portal, session: aio.Session) -> None:
        self._portal = portal
        self._session = session

    @property
    def id(self) -> str:
        """Its identifier."""
        return self._session.id

    @property
    def info(self) -> SessionInfo:
        """What the server said of it last."""
        return self._session.info

    def __repr__(self) -> str:
        return repr(self._session)

    def prompt(self, text: str) -> Run:
        """Asks the agent."""
        return Run(self._portal, self._session.prompt(text))

    def resume(self) -> Run:
        """Takes up the run that another process left, or that was suspended, and finishes it."""
        return Run(self._portal, self._session.resume())

    def events(self, after: int = 0) -> Iterator[News]:
        """What happened after this number, then what happens, until the session is closed."""
        return self._portal.iterate(lambda: self._session.events(after))

    def cancel(self) -> bool:
        """Asks the run that is under way to end. Says whether there was one."""
        return self._portal.run(self._session.cancel())

    def refresh(self) -> SessionInfo:
        """Asks the server how it stands."""
        return self._portal.run(self._session.refresh())

    def close(self) -> SessionReport:
        """Ends the session and returns its totals."""
        return self._portal.run(self._session.close())


class Sessions:
    """The sessions of a server that the caller may see."""

    def __init__(self, portal: Portal, sessions: aio.Sessions) -> None:
        self._portal = portal
        self._sessions = sessions

    def create(
        self,
        *,
        folder: str = "",
        system_prompt: str = "",
        when_lost: WhenLost | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Session:
        """Opens a session."""
        made = self._sessions.create(folder=folder, system_prompt=system_prompt, when_lost=when_lost, labels=labels)
        return Session(self._portal, self._portal.run(made))

    def get(self, session_id: str) -> Session:
        """The session of this identifier."""
        return Session(self._portal, self._portal.run(self._sessions.get(session_id)))

    def resume(self, session_id: str) -> Run:
        """Takes up a session that waits in the journal, and finishes the run that has no end."""
        return Run(self._portal, self._sessions.resume(session_id))

    def list(self, *, labels: Mapping[str, str] | None = None, limit: int = 100) -> list[Session]:
        """The sessions with these labels."""
        found = self._portal.run(self._sessions.list(labels=labels, limit=limit))
        return [Session(self._portal, session) for session in found]
