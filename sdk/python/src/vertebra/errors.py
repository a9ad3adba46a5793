"""What can go wrong, one class per thing a caller would do differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .news import RunReport


class VertebraError(Exception):
    """Anything that this package raises by itself."""


class PointError(VertebraError, ValueError):
    """There is no such point, or what was asked for cannot stand there."""


class VerdictError(VertebraError, ValueError):
    """An answer that its point cannot honour, or that is no answer."""


class HookError(VertebraError, ValueError):
    """A hook, matcher or configuration that is written wrong."""


class RegistrationError(VertebraError):
    """The server did not take a hook. It is not in force."""


class ConnectionLost(VertebraError):  # noqa: N818 - it is what happened
    """The server cannot be reached, or was lost. Trying again may help."""


class AccessError(VertebraError):
    """The server does not know the caller, or the caller may not do this."""


class NotFoundError(VertebraError):
    """There is no such thing on the server, or the caller may not see it."""


class RequestError(VertebraError):
    """The server cannot do what was asked: the request is wrong, or not possible now."""


class ServerError(VertebraError):
    """The server failed."""


class RunFailed(VertebraError):  # noqa: N818 - it is what happened
    """A run failed. Its report says how far it came."""

    def __init__(self, report: RunReport) -> None:
        super().__init__(report["stop"]["message"])
        self.report = report
