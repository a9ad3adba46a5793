from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListApprovalsRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ListApprovalsResponse(_message.Message):
    __slots__ = ("approvals",)
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    approvals: _containers.RepeatedCompositeFieldContainer[Approval]
    def __init__(self, approvals: _Optional[_Iterable[_Union[Approval, _Mapping]]] = ...) -> None: ...

class Approval(_message.Message):
    __slots__ = ("session_id", "run_id", "call_id", "agent", "tool", "args_json", "digest", "reason", "asked_by", "suspended", "preview")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGS_JSON_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ASKED_BY_FIELD_NUMBER: _ClassVar[int]
    SUSPENDED_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    run_id: str
    call_id: str
    agent: str
    tool: str
    args_json: str
    digest: str
    reason: str
    asked_by: str
    suspended: bool
    preview: str
    def __init__(self, session_id: _Optional[str] = ..., run_id: _Optional[str] = ..., call_id: _Optional[str] = ..., agent: _Optional[str] = ..., tool: _Optional[str] = ..., args_json: _Optional[str] = ..., digest: _Optional[str] = ..., reason: _Optional[str] = ..., asked_by: _Optional[str] = ..., suspended: bool = ..., preview: _Optional[str] = ...) -> None: ...

class ApprovalEvent(_message.Message):
    __slots__ = ("asked", "settled")
    class Settled(_message.Message):
        __slots__ = ("session_id", "call_id", "decision")
        SESSION_ID_FIELD_NUMBER: _ClassVar[int]
        CALL_ID_FIELD_NUMBER: _ClassVar[int]
        DECISION_FIELD_NUMBER: _ClassVar[int]
        session_id: str
        call_id: str
        decision: str
        def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., decision: _Optional[str] = ...) -> None: ...
    ASKED_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    asked: Approval
    settled: ApprovalEvent.Settled
    def __init__(self, asked: _Optional[_Union[Approval, _Mapping]] = ..., settled: _Optional[_Union[ApprovalEvent.Settled, _Mapping]] = ...) -> None: ...

class AnswerApprovalRequest(_message.Message):
    __slots__ = ("session_id", "call_id", "approve_digest", "deny_reason", "edit_args", "later")
    class Later(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    APPROVE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    DENY_REASON_FIELD_NUMBER: _ClassVar[int]
    EDIT_ARGS_FIELD_NUMBER: _ClassVar[int]
    LATER_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    call_id: str
    approve_digest: str
    deny_reason: str
    edit_args: _struct_pb2.Struct
    later: AnswerApprovalRequest.Later
    def __init__(self, session_id: _Optional[str] = ..., call_id: _Optional[str] = ..., approve_digest: _Optional[str] = ..., deny_reason: _Optional[str] = ..., edit_args: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., later: _Optional[_Union[AnswerApprovalRequest.Later, _Mapping]] = ...) -> None: ...

class AnswerApprovalResponse(_message.Message):
    __slots__ = ("taken",)
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    taken: bool
    def __init__(self, taken: bool = ...) -> None: ...
