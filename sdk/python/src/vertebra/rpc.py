"""The services of the server, method by method, typed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import grpc
import grpc.aio
from google.protobuf.message import Message

from .errors import VertebraError
from .transport import Endpoint, error_of
from .v1 import approvals_pb2 as approvals
from .v1 import hooks_pb2 as hooks
from .v1 import records_pb2 as records
from .v1 import sessions_pb2 as sessions

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

_LOOK_AGAIN = 0.01

Unary = Callable[[Q], Awaitable[A]]
Stream = Callable[[Q], AsyncIterator[A]]


class Rpc:
    """One channel and all that can be asked over it."""

    def __init__(self, endpoint: Endpoint, patience: float) -> None:
        self._channel = endpoint.open()
        self._patience = patience
        self._metadata = endpoint.metadata()
        self._closed = False
        self._streams: set[grpc.aio.Call] = set()
        self.create_session = self._unary("Sessions/Create", sessions.CreateSessionRequest, sessions.Session)
        self.prompt = self._stream("Sessions/Prompt", sessions.PromptRequest, sessions.SessionEvent)
        self.events = self._stream("Sessions/Events", sessions.EventsRequest, sessions.SessionEvent)
        self.cancel = self._unary("Sessions/Cancel", sessions.CancelRequest, sessions.CancelResponse)
        self.resume = self._stream("Sessions/Resume", sessions.ResumeRequest, sessions.SessionEvent)
        self.list_sessions = self._unary("Sessions/List", sessions.ListSessionsRequest, sessions.ListSessionsResponse)
        self.get_session = self._unary("Sessions/Get", sessions.GetSessionRequest, sessions.Session)
        self.close_session = self._unary("Sessions/Close", sessions.CloseSessionRequest, sessions.CloseSessionResponse)
        self.fire = self._unary("Hooks/Fire", hooks.FireRequest, hooks.FireResponse)
        self.list_hooks = self._unary("Hooks/List", hooks.ListHooksRequest, hooks.ListHooksResponse)
        self.list_approvals = self._unary(
            "Approvals/List", approvals.ListApprovalsRequest, approvals.ListApprovalsResponse
        )
        self.watch_approvals = self._stream("Approvals/Watch", approvals.ListApprovalsRequest, approvals.ApprovalEvent)
        self.answer_approval = self._unary(
            "Approvals/Answer", approvals.AnswerApprovalRequest, approvals.AnswerApprovalResponse
        )
        self.read_records = self._stream("Records/Read", records.ReadRecordsRequest, records.RecordLine)

    def attach(self, frames: AsyncIterator[hooks.ClientFrame]) -> AsyncIterator[hooks.ServerFrame]:
        """The stream of a client's hooks. It raises gRPC errors; the caller decides which are final."""
        method = self._channel.stream_stream(
            "/vertebra.v1.Hooks/Attach", hooks.ClientFrame.SerializeToString, hooks.ServerFrame.FromString
        )
        return method(frames, metadata=self._metadata).__aiter__()

    async def close(self) -> None:
        """Closes the channel and all calls on it."""
        self._closed = True
        # The channel does not find each of them.
        for stream in self._streams:
            stream.cancel()
        await self._channel.close()

    def _given_up(self, cancelled: asyncio.CancelledError) -> BaseException:
        """A call in progress when the channel was closed is reported as cancelled, although no caller cancelled it."""
        return VertebraError("the client was closed") if self._closed and not _is_cancelled() else cancelled

    async def _connected(self) -> None:
        """Waits for the server, for a while: a call that is made while it comes back need not fail."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
        # If it does not come, the call itself says why. To wait for the channel's own word would leave an operation
        # behind in gRPC that may outlive this loop.
        while not self._closed and not self._is_ready() and loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_AGAIN)
        if self._closed:
            raise VertebraError("the client was closed")

    def _is_ready(self) -> bool:
        return self._channel.get_state(try_to_connect=True) == grpc.ChannelConnectivity.READY

    def _unary(self, name: str, _: type[Q], answer: type[A]) -> Unary[Q, A]:
        method = self._channel.unary_unary(f"/vertebra.v1.{name}", _serialize, answer.FromString)

        async def ask(request: Q) -> A:
            await self._connected()
            try:
                return await method(request, metadata=self._metadata)
            except grpc.aio.AioRpcError as error:
                raise error_of(error) from error
            except asyncio.CancelledError as cancelled:
                raise self._given_up(cancelled) from None

        return ask

    def _stream(self, name: str, _: type[Q], answer: type[A]) -> Stream[Q, A]:
        method = self._channel.unary_stream(f"/vertebra.v1.{name}", _serialize, answer.FromString)

        async def ask(request: Q) -> AsyncIterator[A]:
            await self._connected()
            stream = method(request, metadata=self._metadata)
            self._streams.add(stream)
            try:
                async for part in stream:
                    yield part
            except grpc.aio.AioRpcError as error:
                raise error_of(error) from error
            except asyncio.CancelledError as cancelled:
                raise self._given_up(cancelled) from None
            finally:
                # A reader that stops does not want the rest.
                stream.cancel()
                self._streams.discard(stream)

        return ask


def _is_cancelled() -> bool:
    """Whether this task is being cancelled. Before Python 3.11 this is not known."""
    cancelling: Callable[[], int] = getattr(asyncio.current_task(), "cancelling", int)
    return cancelling() > 0


def _serialize(request: Message) -> bytes:
    return request.SerializeToString()
