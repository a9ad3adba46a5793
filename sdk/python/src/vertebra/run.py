"""A run: what happens in it, and how it ended."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import cast

from .errors import ConnectionLost, NotFoundError, RunFailed, ServerError
from .news import News, RunReport
from .v1 import sessions_pb2 as pb

Rest = Callable[[int], AsyncIterator[pb.SessionEvent]]


def read_news(event: pb.SessionEvent) -> News:
    """An event of the wire as a dictionary, with its number."""
    return cast("News", {**json.loads(event.json), "number": event.number})


class Run:
    """A run that is under way. Iterate over it to see what happens, or wait for its `result()`.

    Nothing is asked of the server before one of these is done. If the stream is lost, the run goes on, and the rest is
    told by the session's events.
    """

    def __init__(self, begin: Callable[[], AsyncIterator[pb.SessionEvent]], rest: Rest) -> None:
        self._begin = begin
        self._rest = rest
        self._news: AsyncIterator[News] | None = None
        self._report: RunReport | None = None

    def __aiter__(self) -> AsyncIterator[News]:
        if self._news is None:
            self._news = self._told()
        return self._news

    async def result(self) -> RunReport:
        """Waits for the end. `RunFailed` if the run failed; a tool that was refused on the way does not fail it."""
        async for _ in self:
            pass
        if self._report is None:
            raise ServerError("the server told no end of the run")
        if self._report["status"] == "failed":
            raise RunFailed(self._report)
        return self._report

    async def text(self) -> str:
        """The last thing that the model said."""
        return (await self.result())["text"]

    async def _told(self) -> AsyncIterator[News]:
        last, run_id = 0, ""
        try:
            async for event in self._begin():
                last, run_id = event.number, run_id or event.run_id
                yield self._noted(event, run_id)
        except ConnectionLost:
            # What has not begun to be told may not have begun at all, and is not asked for twice.
            if not run_id:
                raise
        else:
            return
        try:
            # The stream of a run ends with the run; that of a session continues.
            rest = self._rest(last)
            while self._report is None:
                yield self._noted(await rest.__anext__(), run_id)
        except StopAsyncIteration:
            return
        except NotFoundError as error:
            raise ConnectionLost("the server was lost with the run: `resume` the session to finish it") from error

    def _noted(self, event: pb.SessionEvent, run_id: str) -> News:
        news = read_news(event)
        self._report = self._report or _ends(news, run_id)
        return news


def _ends(news: News, run_id: str) -> RunReport | None:
    if news["event"] != "ended" or news["depth"] != 0:
        return None
    report = news["report"]
    return report if report["run_id"] == run_id else None
