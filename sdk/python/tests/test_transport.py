"""How a server is reached: addresses, tokens and certificates."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from vertebra import Tls, connect
from vertebra.transport import Endpoint
from vertebra.v1 import sessions_pb2 as pb

from .authority import Authority


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("127.0.0.1:7777", "127.0.0.1:7777"),
        ("tcp://127.0.0.1:7777", "127.0.0.1:7777"),
        ("tcp://[::1]:7777/", "[::1]:7777"),
        ("example.org:7777", "example.org:7777"),
        ("unix:///run/v.sock", "unix:/run/v.sock"),
        ("unix:/run/v.sock", "unix:/run/v.sock"),
        ("unix:v.sock", "unix:v.sock"),
    ],
)
def test_an_address_is_understood(address: str, target: str):
    assert Endpoint.parse(address, None, tls=False).target == target


@pytest.mark.parametrize(
    ("address", "tls", "says"),
    [
        ("127.0.0.1", False, "has no port: write `127.0.0.1:7777`"),
        ("https://example.org:7777", False, "invalid address"),
        ("unix://", False, "has no path: write `unix:///run/vertebra.sock`"),
        ("unix://run/v.sock", False, "has no path"),
        ("unix:///run/v.sock", True, "a Unix socket is not encrypted"),
    ],
)
def test_what_is_no_address_is_an_error_that_says_what_to_write(address: str, tls: bool, says: str):
    with pytest.raises(ValueError, match=re.escape(says)):
        Endpoint.parse(address, None, tls)


@asynccontextmanager
async def listening(bind: Callable[[grpc.aio.Server], int]) -> AsyncIterator[tuple[int, list[dict[str, Any]]]]:
    """A server that lists no sessions, and keeps who asked."""
    asked: list[dict[str, Any]] = []

    async def list_sessions(_: pb.ListSessionsRequest, context: Any) -> pb.ListSessionsResponse:
        asked.append(dict(context.invocation_metadata()))
        return pb.ListSessionsResponse()

    method = grpc.unary_unary_rpc_method_handler(
        list_sessions, pb.ListSessionsRequest.FromString, pb.ListSessionsResponse.SerializeToString
    )
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("vertebra.v1.Sessions", {"List": method}),))
    port = bind(server)
    await server.start()
    try:
        yield port, asked
    finally:
        await server.stop(None)


async def test_a_token_goes_with_every_call():
    async with listening(lambda server: server.add_insecure_port("127.0.0.1:0")) as (port, asked):
        async with connect(f"127.0.0.1:{port}", token="secret") as client:
            assert await client.sessions.list() == []
        assert asked[0]["authorization"] == "Bearer secret"


async def test_a_socket_is_reached_under_the_name_of_this_machine(tmp_path: Path):
    socket = tmp_path / "v.sock"
    async with listening(lambda server: server.add_insecure_port(f"unix:{socket}")) as (_, asked):
        async with connect(f"unix://{socket}") as client:
            assert await client.sessions.list() == []
        assert "authorization" not in asked[0]


async def test_what_is_no_certificate_is_an_error_before_anybody_is_called(tmp_path: Path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("client")
    _, other_key = authority.sign("other")
    no_certificate = tmp_path / "text.pem"
    no_certificate.write_text("no certificate")
    with pytest.raises(ValueError, match="go together"):
        Tls(cert=certificate).credentials()
    with pytest.raises(ValueError, match=r"text\.pem cannot be used"):
        Tls(ca=no_certificate).credentials()
    with pytest.raises(ValueError, match=r"other\.key cannot be used"):
        Tls(cert=certificate, key=other_key).credentials()
    with pytest.raises(FileNotFoundError, match=r"missing\.pem"):
        Tls(ca=tmp_path / "missing.pem").credentials()
    Tls(ca=authority.certificate, cert=certificate, key=key).credentials()
