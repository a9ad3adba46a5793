"""A port that is encrypted, and clients that are known by their certificates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vertebra import AccessError, BeforeToolUseEvent, ConnectionLost, Tls, connect, deny

from ..authority import Authority
from .server import TOKEN, Served
from .turns import bash, ended, say

TURNS = [bash("echo a"), say("done")]


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    """Who vouches for the server."""
    return Authority(tmp_path / "ours")


@pytest.fixture
def theirs(tmp_path: Path) -> Authority:
    """Who vouches for clients, and not for the server."""
    return Authority(tmp_path / "theirs")


@pytest.fixture
def encrypted(tmp_path: Path, ours: Authority) -> Iterator[Served]:
    """A server that shows a certificate."""
    yield from serving(tmp_path, ours)


@pytest.fixture
def mutual(tmp_path: Path, ours: Authority, theirs: Authority) -> Iterator[Served]:
    """A server that shows a certificate, and asks for one."""
    yield from serving(tmp_path, ours, "--client-ca", str(theirs.certificate))


def serving(folder: Path, authority: Authority, *options: str) -> Iterator[Served]:
    certificate, key = authority.sign("localhost")
    root = folder / "server"
    root.mkdir()
    served = Served(root, TURNS, "--tls-cert", str(certificate), "--tls-key", str(key), *options)
    try:
        yield served
    finally:
        served.stop()


async def governs(served: Served, tls: Tls, token: str | None = None) -> str:
    """Refuses what the agent is about to do; says for whom the session ran."""
    async with connect(served.tcp, token=token, tls=tls) as client:

        @client.guard("BeforeToolUse")
        async def no(event: BeforeToolUseEvent):
            return deny("in confidence")

        session = await client.sessions.create()
        (result,) = await ended(session.prompt("go"))
        assert "in confidence" in result["output"]
        return session.info.owner


async def test_over_tls_a_client_is_known_by_its_token_and_governs(encrypted: Served, ours: Authority):
    assert await governs(encrypted, Tls(ca=ours.certificate), TOKEN) == "token"
    async with connect(encrypted.tcp, token="that-of-someone-else", tls=Tls(ca=ours.certificate)) as client:
        with pytest.raises(AccessError):
            await client.sessions.list()


async def refused(served: Served, tls: Tls | bool, says: str) -> None:
    """Nothing is asked, and no hook is put in force."""
    async with connect(served.tcp, token=TOKEN, tls=tls, patience=0.5) as client:
        with pytest.raises(ConnectionLost, match=says):
            await client.sessions.list()

        @client.guard("BeforeToolUse")
        async def no(event: BeforeToolUseEvent):
            return deny("never")

        with pytest.raises(ConnectionLost, match=f"not in force after .*: {says}"):
            await client.ready()


async def test_a_server_is_not_spoken_to_unless_it_is_known_by_its_certificate(
    encrypted: Served, ours: Authority, theirs: Authority
):
    not_trusted = "the certificate of the server is not trusted: `ca` of `Tls`"
    await refused(encrypted, Tls(ca=theirs.certificate), not_trusted)
    await refused(encrypted, True, not_trusted)
    await refused(encrypted, Tls(ca=ours.certificate, server_name="other.example"), f"{not_trusted}.*other.example")
    await refused(encrypted, False, "the server hung up: .* pass `tls`")


async def test_a_server_without_a_certificate_is_not_taken_for_one_with(tmp_path: Path, ours: Authority):
    (tmp_path / "plain").mkdir()
    plain = Served(tmp_path / "plain", TURNS)
    try:
        await refused(plain, Tls(ca=ours.certificate), "the server speaks no TLS: leave `tls` out")
    finally:
        plain.stop()


async def test_with_a_certificate_a_client_needs_no_token_and_is_known_by_the_name_in_it(
    mutual: Served, ours: Authority, theirs: Authority
):
    certificate, key = theirs.sign("policy")
    tls = Tls(ca=ours.certificate, cert=certificate, key=key, server_name="localhost")
    assert await governs(mutual, tls) == "certificate policy"


async def test_without_a_certificate_that_the_server_knows_a_token_opens_nothing(mutual: Served, ours: Authority):
    says = "the server ended the encrypted connection at once: .* `cert` and `key` of `Tls`"
    await refused(mutual, Tls(ca=ours.certificate), says)
    certificate, key = ours.sign("policy")
    await refused(mutual, Tls(ca=ours.certificate, cert=certificate, key=key), says)
