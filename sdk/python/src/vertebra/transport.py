"""How a server is reached: an address, who the caller is, and a channel that notices when it is lost."""

from __future__ import annotations

import logging
import os
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio

from .errors import AccessError, ConnectionLost, NotFoundError, RequestError, ServerError, VertebraError

logger = logging.getLogger("vertebra")

_MAX_MESSAGE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Tls:
    """TLS for TCP. With its own certificate and key, the client is identified by them."""

    ca: str | os.PathLike[str] | None = None
    """The certificates that are trusted, in PEM; those of the system if there is none."""
    cert: str | os.PathLike[str] | None = None
    """The client's certificate, in PEM."""
    key: str | os.PathLike[str] | None = None
    """The client's key, in PEM."""
    server_name: str | None = None
    """The name that the server's certificate has to have, if it is not that of the address."""

    def credentials(self) -> grpc.ChannelCredentials:
        """Returns the gRPC credentials."""
        if (self.cert is None) != (self.key is None):
            raise ValueError("a client's certificate and its key go together: pass both `cert` and `key`")

        def read(path: str | os.PathLike[str] | None) -> bytes | None:
            return None if path is None else Path(path).read_bytes()

        credentials = grpc.ssl_channel_credentials(read(self.ca), read(self.key), read(self.cert))
        self._check()
        return credentials

    def _check(self) -> None:
        """Checks the files with Python, whose errors say what is wrong. gRPC would only report a failed connection."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if self.ca is not None:
                context.load_verify_locations(self.ca)
            if self.cert is not None:
                # A key with a password would be asked for on the terminal.
                context.load_cert_chain(self.cert, self.key, password="")
        except ssl.SSLError as error:
            files = [str(path) for path in (self.ca, self.cert, self.key) if path is not None]
            raise ValueError(f"the certificates in {', '.join(files)} cannot be used: {error}") from error


@dataclass(frozen=True)
class Endpoint:
    """A server, and how to speak to it."""

    target: str
    """As gRPC writes it: `127.0.0.1:7777`, `unix:/run/vertebra.sock`."""
    token: str | None = None
    tls: Tls | None = None

    @staticmethod
    def parse(address: str, token: str | None, tls: Tls | bool) -> Endpoint:
        """From `host:port`, `tcp://host:port` or `unix:///path`."""
        secure = Tls() if tls is True else tls or None
        if address.startswith("unix:"):
            if secure is not None:
                raise ValueError("a Unix socket is not encrypted: leave `tls` out")
            path = address.removeprefix("unix:")
            if path.startswith("//"):
                path = path[2:] if path.startswith("///") else ""
            if not path:
                raise ValueError(f"`{address}` has no path: write `unix:///run/vertebra.sock`")
            return Endpoint(f"unix:{path}", token, None)
        target = address.removeprefix("tcp://").rstrip("/")
        if "://" in target:
            raise ValueError(f"invalid address `{address}`: write `host:port`, `tcp://host:port` or `unix:///path`")
        host, colon, port = target.rpartition(":")
        if not (colon and host and port.isdecimal()):
            raise ValueError(f"`{address}` has no port: write `{target}:7777`")
        return Endpoint(target, token, secure)

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that no proxy is used."""
        return self.target.startswith(("unix:", "127.", "localhost:", "[::1]:"))

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What is sent with every call."""
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)

    def open(self) -> grpc.aio.Channel:
        """A channel. It pings, also while nothing is said, and connects again by itself."""
        options: list[tuple[str, str | int]] = [
            ("grpc.keepalive_time_ms", 10_000),
            ("grpc.keepalive_timeout_ms", 5_000),
            # The answer to a ping has this time, and not the one above, which alone would leave it a minute.
            ("grpc.http2.ping_timeout_ms", 5_000),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.initial_reconnect_backoff_ms", 100),
            # How long an attempt may take, whatever its name says.
            ("grpc.min_reconnect_backoff_ms", 5_000),
            ("grpc.max_reconnect_backoff_ms", 1_000),
            ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
            # A client that comes back after the server was restarted must not be handed the old connection.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if self.is_local:
            options.append(("grpc.enable_http_proxy", 0))
        if self.target.startswith("unix:"):
            # Otherwise it would be the path, which is not a host name.
            options.append(("grpc.default_authority", "localhost"))
        if self.tls is None:
            if self.token is not None and not self.is_local:
                logger.warning("the token for %s is not encrypted on its way: pass `tls=`", self.target)
            return grpc.aio.insecure_channel(self.target, options)
        if self.tls.server_name is not None:
            options.append(("grpc.ssl_target_name_override", self.tls.server_name))
        return grpc.aio.secure_channel(self.target, self.tls.credentials(), options)


_KINDS: dict[grpc.StatusCode, Callable[[str], VertebraError]] = {
    grpc.StatusCode.UNAVAILABLE: ConnectionLost,
    grpc.StatusCode.DEADLINE_EXCEEDED: ConnectionLost,
    grpc.StatusCode.UNAUTHENTICATED: AccessError,
    grpc.StatusCode.PERMISSION_DENIED: AccessError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.INVALID_ARGUMENT: RequestError,
    grpc.StatusCode.FAILED_PRECONDITION: RequestError,
    grpc.StatusCode.ALREADY_EXISTS: RequestError,
    grpc.StatusCode.OUT_OF_RANGE: RequestError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: RequestError,
    grpc.StatusCode.ABORTED: RequestError,
    grpc.StatusCode.CANCELLED: ConnectionLost,
}


# What gRPC says of a connection that did not come about, and what to do about it.
_ADVICE = (
    ("WRONG_VERSION_NUMBER", "the server speaks no TLS: leave `tls` out"),
    (
        "Secure read failed|_ALERT_",
        "the server ended the encrypted connection at once: if it knows clients by their certificates, pass one that "
        "it takes as `cert` and `key` of `Tls`",
    ),
    (
        "certificate|CERTIFICATE",
        "the certificate of the server is not trusted: `ca` of `Tls` says who vouches for it, `server_name` as whom",
    ),
    ("Socket closed", "the server hung up: if it has a certificate, pass `tls`"),
)


def error_of(error: grpc.aio.AioRpcError) -> VertebraError:
    """What went wrong, in the words of this package."""
    said = error.details() or error.code().name.lower()
    if said.startswith("failed to connect"):
        said = next((f"{advice} ({said})" for words, advice in _ADVICE if re.search(words, said)), said)
    return _KINDS.get(error.code(), ServerError)(said)
