"""What a handler of a `HookEngine` answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from typing_extensions import NotRequired, TypedDict

from .errors import VerdictError
from .points import did_you_mean

Action = Literal["Continue", "Block", "Retry", "Skip"]

_ACTIONS: tuple[Action, ...] = ("Continue", "Block", "Retry", "Skip")
_KEYS = ["action", "reason", "modified", "retry_delay_ms"]


class ResponseDict(TypedDict):
    """An answer as a dictionary: `{"action": "Block", "reason": "…"}`."""

    action: Action
    reason: NotRequired[str]
    modified: NotRequired[Mapping[str, object]]
    retry_delay_ms: NotRequired[int]


@dataclass(frozen=True)
class HookResponse:
    """An answer: continue, block, retry later, or skip the hooks that follow."""

    action: Action = "Continue"
    reason: str | None = None
    modified: dict[str, object] | None = None
    retry_delay_ms: int | None = None

    @staticmethod
    def continue_() -> HookResponse:
        """Continues."""
        return HookResponse()

    @staticmethod
    def continue_with(modified: Mapping[str, object]) -> HookResponse:
        """Continues with a changed value: the arguments of a call, the result, the prompt."""
        return HookResponse(modified=dict(modified))

    @staticmethod
    def block(reason: str) -> HookResponse:
        """Blocks the operation."""
        return HookResponse("Block", reason=reason)

    @staticmethod
    def retry(delay_ms: int) -> HookResponse:
        """Waits, then retries."""
        return HookResponse("Retry", retry_delay_ms=delay_ms)

    @staticmethod
    def skip() -> HookResponse:
        """Continues and skips the hooks that follow."""
        return HookResponse("Skip")


def read_response(answer: object) -> HookResponse:
    """The answer of a handler, whichever way it is written. `VerdictError` if it is none."""
    if answer is None:
        return HookResponse()
    if isinstance(answer, HookResponse):
        return _checked(answer)
    if not isinstance(answer, Mapping):
        raise VerdictError(f"{answer!r} is not an answer: return a HookResponse, or {{'action': 'Continue'}}")
    given = cast("Mapping[str, Any]", answer)
    wrong = next((key for key in given if key not in _KEYS), None)
    if wrong is not None:
        raise VerdictError(f"the answer has a key `{wrong}`, which means nothing{did_you_mean(str(wrong), _KEYS)}")
    if "action" not in given:
        raise VerdictError("the answer has no `action`: write {'action': 'Continue'}")
    return _checked(HookResponse(**given))


def _checked(answer: HookResponse) -> HookResponse:
    """The answer, if what it says goes together."""
    if answer.action not in _ACTIONS:
        near = did_you_mean(str(answer.action), list(_ACTIONS))
        raise VerdictError(f"unknown action `{answer.action}`{near or ': write Continue, Block, Retry or Skip'}")
    if answer.modified is not None and answer.action != "Continue":
        raise VerdictError(f"`modified` goes with Continue, not with {answer.action}")
    if answer.modified is not None and not isinstance(answer.modified, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerdictError("`modified` is an object")
    delay = answer.retry_delay_ms
    if answer.action == "Retry" and (not isinstance(delay, int) or delay < 0):
        raise VerdictError("a Retry says when: {'action': 'Retry', 'retry_delay_ms': 5000}")
    return answer
