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

from vertebra import ConnectionLost, Tls, connect
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
        ("https://example.org:7777", False, "is no address"),
        ("unix://", False, "has no path: write `unix:///run/vertebra.sock`"),
        ("unix://run/v.sock", False, "has no path"),
        ("unix:///run/v.sock", True, "a Unix socket is not encrypted"),
    ],
)
def test_what_is_no_address_is_an_error_that_says_what_to_write(address: str, tls: bool, says: str):
    with pytest.raises(ValueError, match=re.escape(says)):
        Endpoint.parse(address, None, tls)


Secure = Callable[[grpc.aio.Server], int]


@asynccontextmanager
async def listening(bind: Secure) -> AsyncIterator[tuple[int, list[dict[str, Any]]]]:
    """A server that lists no sessions, and keeps who asked."""
    asked: list[dict[str, Any]] = []

    async def list_sessions(_: pb.ListSessionsRequest, context: Any) -> pb.ListSessionsResponse:
        asked.append({**dict(context.invocation_metadata()), "peer": context.auth_context().get("x509_common_name")})
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


def secured(authority: Authority, *, mutual: bool) -> Secure:
    certificate, key = authority.sign("localhost")
    credentials = grpc.ssl_server_credentials(
        [(key.read_bytes(), certificate.read_bytes())],
        authority.certificate.read_bytes() if mutual else None,
        require_client_auth=mutual,
    )
    return lambda server: server.add_secure_port("127.0.0.1:0", credentials)


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


async def test_a_server_is_known_by_its_certificate(tmp_path: Path):
    authority = Authority(tmp_path)
    async with listening(secured(authority, mutual=False)) as (port, asked):
        async with connect(f"127.0.0.1:{port}", token="secret", tls=Tls(ca=authority.certificate)) as client:
            assert await client.sessions.list() == []
        assert asked[0]["authorization"] == "Bearer secret"
        # Nobody vouches for it, or nothing is encrypted.
        for tls in (True, False):
            async with connect(f"127.0.0.1:{port}", tls=tls, patience=0.3) as client:
                with pytest.raises(ConnectionLost):
                    await client.sessions.list()
        assert len(asked) == 1


async def test_a_client_is_known_by_its_certificate(tmp_path: Path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("client")
    async with listening(secured(authority, mutual=True)) as (port, asked):
        mutual = Tls(ca=authority.certificate, cert=certificate, key=key, server_name="localhost")
        async with connect(f"127.0.0.1:{port}", tls=mutual) as client:
            assert await client.sessions.list() == []
        assert asked[0]["peer"] == [b"client"]
        async with connect(f"127.0.0.1:{port}", tls=Tls(ca=authority.certificate), patience=0.3) as client:
            with pytest.raises(ConnectionLost):
                await client.sessions.list()
    with pytest.raises(ValueError, match="go together"):
        Tls(cert=certificate).credentials()
