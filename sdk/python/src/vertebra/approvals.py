"""Questions that people answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from .errors import ConnectionLost, ServerError
from .rpc import Rpc
from .unbroken import Pauses
from .v1 import approvals_pb2 as pb
from .verdicts import Deny

logger = logging.getLogger("vertebra")


@dataclass(frozen=True)
class Approval:
    """A question about a call."""

    session_id: str
    run_id: str
    call_id: str
    agent: str
    tool: str
    args: dict[str, Any]
    """The exact arguments that would be used."""
    digest: str
    """Their fingerprint. A yes holds for them and for nothing else."""
    reason: str
    asked_by: str
    suspended: bool
    """Whether the run waits in the journal, and not in the server's memory."""
    preview: str
    """What the call would change, as a unified diff in which secrets are hidden. Empty if its tool does not say."""

    @staticmethod
    def read(wire: pb.Approval) -> Approval:
        """From the message of the wire."""
        return Approval(
            session_id=wire.session_id,
            run_id=wire.run_id,
            call_id=wire.call_id,
            agent=wire.agent,
            tool=wire.tool,
            args=json.loads(wire.args_json or "{}"),
            digest=wire.digest,
            reason=wire.reason,
            asked_by=wire.asked_by,
            suspended=wire.suspended,
            preview=wire.preview,
        )


@dataclass(frozen=True)
class Settled:
    """A question that needs no answer any more."""

    session_id: str
    call_id: str
    decision: str
    """`approve`, `deny`, `edit`, `later`, or `gone`: the question was settled or withdrawn."""


@dataclass(frozen=True)
class Approve:
    """Yes, to exactly the arguments that were shown."""


@dataclass(frozen=True)
class Edit:
    """Yes, with other arguments. They are validated and guarded anew."""

    args: Mapping[str, object]


@dataclass(frozen=True)
class Later:
    """Not now: the run is suspended, and asks again when it is resumed."""


Decision = Approve | Deny | Edit | Later


def approve() -> Approve:
    """Yes, to exactly the arguments that were shown."""
    return Approve()


def edit(args: Mapping[str, object]) -> Edit:
    """Yes, with these arguments. They are validated and guarded anew."""
    return Edit(args)


def later() -> Later:
    """Not now: the run is suspended, and asks again when it is resumed."""
    return Later()


class Approvals:
    """The questions that wait, in the sessions that the caller may see."""

    def __init__(self, rpc: Callable[[], Rpc]) -> None:
        self._rpc = rpc

    async def list(self, session_id: str = "") -> list[Approval]:
        """Those that wait, of one session or of all."""
        answer = await self._rpc().list_approvals(pb.ListApprovalsRequest(session_id=session_id))
        return [Approval.read(wire) for wire in answer.approvals]

    async def watch(self, session_id: str = "") -> AsyncIterator[Approval | Settled]:
        """Those that wait, then each as it is put and as it is settled.

        If the server is lost it goes on as soon as the server is back: with what was put meanwhile, and with `gone` for
        what was settled. Nothing is told twice, unless it changed: a question that waits in the journal and then in the
        server is told as each. `ConnectionLost` if there is no server when it begins.
        """
        told = _Told()
        pauses = Pauses()
        is_known = False
        while True:
            try:
                # Listed before the stream is opened, so that the stream reports questions asked in between.
                for gone in told.missing(await self.list(session_id)):
                    yield gone
                is_known = True
                pauses.begin_anew()
                async for event in self._rpc().watch_approvals(pb.ListApprovalsRequest(session_id=session_id)):
                    if (news := told.new(event)) is not None:
                        yield news
                why = "the server ended the stream"
            except (ConnectionLost, ServerError) as error:
                if not is_known:
                    raise
                why = str(error)
            pause = pauses.next()
            logger.info("questions are not heard of (%s); trying again in %.1f s", why, pause)
            await asyncio.sleep(pause)

    async def answer(self, approval: Approval, decision: Decision) -> bool:
        """Answers one: `approve()`, `deny("…")`, `edit({…})` or `later()`. The first answer counts.

        Says whether a run took it; if not, it waits in the journal for the run to be resumed.
        """
        request = pb.AnswerApprovalRequest(session_id=approval.session_id, call_id=approval.call_id)
        match decision:
            case Approve():
                request.approve_digest = approval.digest
            case Deny(reason):
                request.deny_reason = reason
            case Edit(args):
                json_format.ParseDict(dict(args), request.edit_args)
            case Later():
                request.later.SetInParent()
        return (await self._rpc().answer_approval(request)).taken


class _Told:
    """The reported questions that are not settled as far as the client knows."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Approval] = {}

    def missing(self, waiting: Iterable[Approval]) -> list[Settled]:
        """Returns the questions that no longer wait: they were settled while the client was disconnected."""
        keys = {(approval.session_id, approval.call_id) for approval in waiting}
        gone = [key for key in self._open if key not in keys]
        for key in gone:
            del self._open[key]
        return [Settled(*key, "gone") for key in gone]

    def new(self, event: pb.ApprovalEvent) -> Approval | Settled | None:
        """Returns what an event reports for the first time. A stream starts with all waiting questions."""
        if event.WhichOneof("event") == "asked":
            approval = Approval.read(event.asked)
            key = approval.session_id, approval.call_id
            is_told = self._open.get(key) == approval
            self._open[key] = approval
            return None if is_told else approval
        settled = Settled(event.settled.session_id, event.settled.call_id, event.settled.decision)
        was_open = self._open.pop((settled.session_id, settled.call_id), None)
        return None if was_open is None else settled
