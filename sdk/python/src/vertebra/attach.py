"""The stream over which a client's hooks are registered, asked and answered.

It is opened when the first hook is put, and opened again, with growing pauses, whenever it is lost. Then all hooks are
registered anew, in their order. An event that is put again because its answer was lost gets the same answer: no handler
runs twice for one event, and nothing is answered twice on one stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import grpc
import grpc.aio

from .errors import ConnectionLost, RegistrationError, VertebraError
from .registration import Registration
from .transport import error_of
from .unbroken import Pauses
from .v1 import hooks_pb2 as pb

logger = logging.getLogger("vertebra")

_THREADS = 32
_KEPT_ANSWERS = 256
_MAX_FAILURE = 1000

# What another try will not change.
_FINAL = (
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
)

Open = Callable[[AsyncIterator[pb.ClientFrame]], AsyncIterator[pb.ServerFrame]]


@dataclass
class _Placed:
    """A hook, and what the server said to it."""

    registration: Registration
    in_force: bool = False
    error: str | None = None
    request: int = 0


@dataclass
class _Stream:
    """One stream, from its opening to its loss."""

    outbox: asyncio.Queue[pb.ClientFrame | None] = field(default_factory=asyncio.Queue[pb.ClientFrame | None])
    """What goes out; nothing more after `None`."""
    welcomed: bool = False
    max_answer_bytes: int = 0
    awaited: set[str] = field(default_factory=set[str])
    """Events that were put on this stream and are not answered on it."""


class Attachment:
    """A client's hooks on a server."""

    def __init__(self, open_stream: Open, client_id: str, agent: str) -> None:
        self._open = open_stream
        self._hello = pb.Hello(client_id=client_id, agent=agent)
        self._hooks: dict[str, _Placed] = {}
        self._leaving: set[int] = set()
        self._requests = 0
        self._stream: _Stream | None = None
        self._task: asyncio.Task[None] | None = None
        self._working: dict[str, asyncio.Task[None]] = {}
        self._answers: OrderedDict[str, pb.Answer] = OrderedDict()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="vertebra-hook")
        self._changed = asyncio.Condition()
        self._final: VertebraError | None = None
        self._last: VertebraError | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, registration: Registration) -> None:
        """Puts a hook in force, as soon as there is a server. `settled` tells when it is."""
        name = registration.hook.name
        if name in self._hooks:
            raise RegistrationError(f"there is a hook `{name}` already: pass another `name=`, or unregister it")
        self._hooks[name] = _Placed(registration)
        if self._stream is not None and self._stream.welcomed:
            self._register(self._hooks[name], self._stream)

    def start(self) -> None:
        """Opens the stream, if there are hooks and it is not open. Called on the loop."""
        if self._task is None and self._hooks:
            self._task = asyncio.create_task(self._keep_open(), name="vertebra-hooks")

    async def settled(self, within: float) -> None:
        """Waits until every hook is in force, and every dropped one is not. `RegistrationError` if one was refused."""
        self.start()
        try:
            async with self._changed:
                await asyncio.wait_for(self._changed.wait_for(self._is_settled), within)
        except asyncio.TimeoutError:
            why = f": {self._last}" if self._last else ""
            raise ConnectionLost(f"the hooks are not in force after {within:g} s{why}") from self._last
        if self._final is not None:
            raise self._final
        for name, placed in self._hooks.items():
            if placed.error:
                raise RegistrationError(f"the hook `{name}` is not in force: {placed.error}")

    def _is_settled(self) -> bool:
        if self._final is not None:
            return True
        return not self._leaving and all(placed.in_force or placed.error for placed in self._hooks.values())

    def drop(self, name: str) -> bool:
        """Takes a hook out of force. Says whether it was there; `settled` tells when it is gone."""
        placed = self._hooks.pop(name, None)
        stream = self._stream
        is_known = placed is not None and placed.request and not placed.error
        if is_known and stream is not None and stream.welcomed:
            request = self._next_request()
            self._leaving.add(request)
            stream.outbox.put_nowait(pb.ClientFrame(unregister=pb.Unregister(request=request, name=name)))
        return placed is not None

    async def take_back(self, within: float) -> None:
        """Unregisters all hooks, if there is a connection."""
        for name in list(self._hooks):
            self.drop(name)
        async with self._changed:
            gone = self._changed.wait_for(lambda: not self._leaving or self._stream is None)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(gone, within)

    async def close(self) -> None:
        """Ends the stream, and whatever is at work."""
        tasks = [*self._working.values(), *self._tasks]
        if self._task is not None:
            tasks.append(self._task)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._task = None
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _keep_open(self) -> None:
        pauses = Pauses()
        while True:
            stream = self._stream = _Stream()
            try:
                await self._serve(stream)
                self._last = ConnectionLost("the server ended the stream")
            except grpc.aio.AioRpcError as error:
                self._last = error_of(error)
                if error.code() in _FINAL:
                    self._final = self._last
                    await self._tell()
                    return
            except Exception as error:
                # A bug here must not leave the hooks unanswered for ever.
                logger.exception("the stream of hooks failed")
                self._last = ConnectionLost(str(error))
            finally:
                self._stream = None
            for placed in self._hooks.values():
                placed.in_force = False
            # A hook that is not registered again is out of force.
            self._leaving.clear()
            await self._tell()
            if stream.welcomed:
                pauses.begin_anew()
            pause = pauses.next()
            logger.info("the server was lost (%s); trying again in %.1f s", self._last, pause)
            await asyncio.sleep(pause)

    async def _serve(self, stream: _Stream) -> None:
        stream.outbox.put_nowait(pb.ClientFrame(hello=self._hello))

        async def frames() -> AsyncIterator[pb.ClientFrame]:
            while (frame := await stream.outbox.get()) is not None:
                yield frame

        try:
            async for frame in self._open(frames()):
                await self._take(frame, stream)
        finally:
            stream.outbox.put_nowait(None)

    async def _take(self, frame: pb.ServerFrame, stream: _Stream) -> None:
        match frame.WhichOneof("frame"):
            case "welcome":
                self._welcomed(frame.welcome, stream)
            case "registered":
                await self._registered(frame.registered)
            case "unregistered":
                await self._unregistered(frame.unregistered)
            case "event":
                self._put_to_handler(frame.event, stream)
            case "withdrawn":
                self._withdrawn(frame.withdrawn.id)
            case "draining":
                logger.warning("the server goes down within %d ms", frame.draining.within_ms)
            case _:
                logger.debug("the server said something that this client does not know")

    def _welcomed(self, welcome: pb.Welcome, stream: _Stream) -> None:
        stream.welcomed = True
        stream.max_answer_bytes = welcome.max_answer_bytes
        if not welcome.resumed:
            # Nothing that was asked before is asked again.
            self._answers.clear()
            for task in self._working.values():
                task.cancel()
            self._working.clear()
        for placed in self._hooks.values():
            self._register(placed, stream)

    def _register(self, placed: _Placed, stream: _Stream) -> None:
        placed.request, placed.error = self._next_request(), None
        frame = pb.Register(request=placed.request, hook=placed.registration.hook, scope=placed.registration.scope)
        stream.outbox.put_nowait(pb.ClientFrame(register=frame))

    def _next_request(self) -> int:
        self._requests += 1
        return self._requests

    async def _registered(self, registered: pb.Registered) -> None:
        for placed in self._hooks.values():
            if placed.request == registered.request:
                placed.in_force = not registered.error
                placed.error = registered.error or None
        await self._tell()

    async def _unregistered(self, unregistered: pb.Unregistered) -> None:
        self._leaving.discard(unregistered.request)
        if unregistered.error:
            logger.warning("a hook could not be taken away: %s", unregistered.error)
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _put_to_handler(self, event: pb.Event, stream: _Stream) -> None:
        key = f"{event.id} {event.hook} {event.json}"
        stream.awaited.add(key)
        answer = self._answers.get(key)
        if answer is not None:
            self._send(key, answer)
        elif key not in self._working:
            task = asyncio.create_task(self._work(key, event), name=f"vertebra-event-{event.id}")
            self._working[key] = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, key: str, event: pb.Event) -> None:
        answer = await self._answer(event)
        self._working.pop(key, None)
        self._answers[key] = answer
        while len(self._answers) > _KEPT_ANSWERS:
            self._answers.popitem(last=False)
        self._send(key, answer)

    def _send(self, key: str, answer: pb.Answer) -> None:
        """Answers what this stream was asked. If it was asked on a lost one, it will be put again."""
        stream = self._stream
        if stream is not None and key in stream.awaited:
            stream.awaited.discard(key)
            stream.outbox.put_nowait(pb.ClientFrame(answer=answer))

    async def _answer(self, event: pb.Event) -> pb.Answer:
        placed = self._hooks.get(event.hook)
        if placed is None:
            return pb.Answer(id=event.id, failed=f"this client has no hook `{event.hook}`")
        within = event.deadline_ms / 1000 if event.deadline_ms else None
        try:
            answer = await asyncio.wait_for(placed.registration.respond(event.json, self._threads), within)
        except asyncio.TimeoutError:
            return _failed(event, f"it took longer than {event.deadline_ms} ms")
        except Exception as error:
            logger.exception("the hook `%s` failed at %s", event.hook, event.point)
            return _failed(event, f"{type(error).__name__}: {error}")
        limit = self._stream.max_answer_bytes if self._stream is not None else 0
        size = len(answer.encode())
        if limit and size > limit:
            return _failed(event, f"the answer has {size} bytes, and may have {limit}")
        return pb.Answer(id=event.id, json=answer)

    def _withdrawn(self, event_id: int) -> None:
        for key in [key for key in self._working if key.startswith(f"{event_id} ")]:
            self._working.pop(key).cancel()


def _failed(event: pb.Event, why: str) -> pb.Answer:
    return pb.Answer(id=event.id, failed=why[:_MAX_FAILURE])
