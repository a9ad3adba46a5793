from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ReadRecordsRequest(_message.Message):
    __slots__ = ("session_id", "after", "kinds", "follow")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    after: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    follow: bool
    def __init__(self, session_id: _Optional[str] = ..., after: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ..., follow: bool = ...) -> None: ...

class RecordLine(_message.Message):
    __slots__ = ("number", "kind", "json")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    number: int
    kind: str
    json: str
    def __init__(self, number: _Optional[int] = ..., kind: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...
