"""A relay between a client and a server that can be cut, as networks are."""

from __future__ import annotations

import asyncio
import contextlib


class Relay:
    """Listens on a loopback port and passes bytes on, until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._port = 0
        self.visited = asyncio.Event()
        """Somebody came in since it was opened last."""

    @property
    def address(self) -> str:
        """Where clients come in."""
        return f"127.0.0.1:{self._port}"

    async def open(self) -> None:
        """Lets clients in, where it did before."""
        self.visited.clear()
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Ends all connections, and lets nobody in."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._writers.clear()

    def freeze(self) -> None:
        """Passes nothing more over the connections there are. They stay open, as when a cable is pulled."""
        for task in self._tasks:
            task.cancel()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visited.set()
        try:
            there_reader, there_writer = await asyncio.open_connection(*self._there)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, there_writer}
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(_pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    sink.transport.abort()
