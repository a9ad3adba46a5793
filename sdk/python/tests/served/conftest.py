"""Servers, each over both transports."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from vertebra import Client, connect

from .server import Served


@pytest.fixture(params=["tcp", "unix"])
def transport(request: pytest.FixtureRequest) -> str:
    """How clients reach the server."""
    return request.param


class Serve:
    """Starts servers and connects to them."""

    def __init__(self, transport: str) -> None:
        self._transport = transport
        self._servers: list[Served] = []
        # The path of a socket may have no more than about a hundred characters.
        self._folder = tempfile.TemporaryDirectory(prefix="v-")

    def __call__(self, *turns: Mapping[str, Any], options: tuple[str, ...] = ()) -> Served:
        """A server whose model says these turns."""
        root = Path(self._folder.name).resolve() / str(len(self._servers))
        root.mkdir()
        served = Served(root, list(turns), *options)
        self._servers.append(served)
        return served

    def client(self, served: Served, **options: Any) -> Client:
        """A client of it."""
        address, token = served.address(self._transport)
        return connect(address, token=token, **options)

    def close(self) -> None:
        """Ends them all."""
        for served in self._servers:
            served.stop()
        self._folder.cleanup()


@pytest.fixture
def serve(transport: str) -> Iterator[Serve]:
    """Starts servers, and ends them after the test."""
    made = Serve(transport)
    try:
        yield made
    finally:
        made.close()


Turns = Callable[..., Served]
