"""What can go wrong, one class per thing a caller would do differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .news import RunReport


class VertebraError(Exception):
    """Anything that this package raises by itself."""


class PointError(VertebraError, ValueError):
    """The point is unknown, or the hook is not possible at it."""


class VerdictError(VertebraError, ValueError):
    """The answer is invalid, or its point cannot honour it."""


class HookError(VertebraError, ValueError):
    """A hook, matcher or configuration that is written wrong."""


class RegistrationError(VertebraError):
    """The server did not take a hook. It is not in force."""


class ConnectionLost(VertebraError):  # noqa: N818 - it is what happened
    """The server cannot be reached, or was lost. Trying again may help."""


class AccessError(VertebraError):
    """The server does not know the caller, the caller may not do this, or a hook denied the session."""


class NotFoundError(VertebraError):
    """The server does not have it, or the caller may not see it."""


class RequestError(VertebraError):
    """The server cannot do what was asked: the request is wrong, or not possible now."""


class ServerError(VertebraError):
    """The server failed."""


class RunFailed(VertebraError):  # noqa: N818 - it is what happened
    """A run failed. Its report says how far it came."""

    def __init__(self, report: RunReport) -> None:
        super().__init__(report["stop"]["message"])
        self.report = report
