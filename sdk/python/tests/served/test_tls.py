"""A port that is encrypted, and clients that are known by their certificates."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertebra import AccessError, BeforeToolUseEvent, ConnectionLost, Tls, connect, deny

from ..authority import Authority
from .server import TOKEN, Served
from .turns import bash, ended, say


def encrypted(folder: Path, authority: Authority, *options: str) -> Served:
    """A server that shows a certificate."""
    certificate, key = authority.sign("localhost")
    root = folder / "server"
    root.mkdir()
    turns = [bash("echo a"), say("done")]
    return Served(root, turns, "--tls-cert", str(certificate), "--tls-key", str(key), *options)


async def test_a_server_is_known_by_its_certificate_and_a_client_by_its_token(tmp_path: Path):
    authority = Authority(tmp_path)
    served = encrypted(tmp_path, authority)
    try:
        async with connect(served.tcp, token=TOKEN, tls=Tls(ca=authority.certificate)) as client:

            @client.guard("BeforeToolUse")
            async def no(event: BeforeToolUseEvent):
                return deny("not even encrypted")

            session = await client.sessions.create()
            (result,) = await ended(session.prompt("go"))
            assert "not even encrypted" in result["output"]
        async with connect(served.tcp, token="another", tls=Tls(ca=authority.certificate)) as client:
            with pytest.raises(AccessError):
                await client.sessions.list()
        async with connect(served.tcp, token=TOKEN, patience=0.5) as client:
            with pytest.raises(ConnectionLost):
                await client.sessions.list()
    finally:
        served.stop()


async def test_a_client_is_known_by_the_name_in_its_certificate(tmp_path: Path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("policy")
    served = encrypted(tmp_path, authority, "--client-ca", str(authority.certificate))
    try:
        async with connect(served.tcp, tls=Tls(ca=authority.certificate, cert=certificate, key=key)) as client:
            session = await client.sessions.create()
            assert "policy" in session.info.owner
        async with connect(served.tcp, token=TOKEN, tls=Tls(ca=authority.certificate), patience=0.5) as client:
            with pytest.raises((AccessError, ConnectionLost)):
                await client.sessions.list()
    finally:
        served.stop()
