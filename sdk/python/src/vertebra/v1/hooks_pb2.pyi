from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_HOOK: _ClassVar[Role]
    ROLE_GUARD: _ClassVar[Role]
    ROLE_WATCH: _ClassVar[Role]

class FailurePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_POLICY_UNSPECIFIED: _ClassVar[FailurePolicy]
    FAILURE_POLICY_OPEN: _ClassVar[FailurePolicy]
    FAILURE_POLICY_CLOSED: _ClassVar[FailurePolicy]
    FAILURE_POLICY_ASK: _ClassVar[FailurePolicy]
ROLE_UNSPECIFIED: Role
ROLE_HOOK: Role
ROLE_GUARD: Role
ROLE_WATCH: Role
FAILURE_POLICY_UNSPECIFIED: FailurePolicy
FAILURE_POLICY_OPEN: FailurePolicy
FAILURE_POLICY_CLOSED: FailurePolicy
FAILURE_POLICY_ASK: FailurePolicy

class ClientFrame(_message.Message):
    __slots__ = ("hello", "register", "unregister", "answer")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    REGISTER_FIELD_NUMBER: _ClassVar[int]
    UNREGISTER_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    register: Register
    unregister: Unregister
    answer: Answer
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., register: _Optional[_Union[Register, _Mapping]] = ..., unregister: _Optional[_Union[Unregister, _Mapping]] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ...) -> None: ...

class ServerFrame(_message.Message):
    __slots__ = ("welcome", "registered", "unregistered", "event", "withdrawn", "draining")
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    REGISTERED_FIELD_NUMBER: _ClassVar[int]
    UNREGISTERED_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWN_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    welcome: Welcome
    registered: Registered
    unregistered: Unregistered
    event: Event
    withdrawn: Withdrawn
    draining: Draining
    def __init__(self, welcome: _Optional[_Union[Welcome, _Mapping]] = ..., registered: _Optional[_Union[Registered, _Mapping]] = ..., unregistered: _Optional[_Union[Unregistered, _Mapping]] = ..., event: _Optional[_Union[Event, _Mapping]] = ..., withdrawn: _Optional[_Union[Withdrawn, _Mapping]] = ..., draining: _Optional[_Union[Draining, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("client_id", "agent")
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    client_id: str
    agent: str
    def __init__(self, client_id: _Optional[str] = ..., agent: _Optional[str] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("server_version", "principal", "grace_ms", "max_in_flight", "max_answer_bytes", "resumed")
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    GRACE_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    MAX_ANSWER_BYTES_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FIELD_NUMBER: _ClassVar[int]
    server_version: str
    principal: str
    grace_ms: int
    max_in_flight: int
    max_answer_bytes: int
    resumed: bool
    def __init__(self, server_version: _Optional[str] = ..., principal: _Optional[str] = ..., grace_ms: _Optional[int] = ..., max_in_flight: _Optional[int] = ..., max_answer_bytes: _Optional[int] = ..., resumed: bool = ...) -> None: ...

class Register(_message.Message):
    __slots__ = ("request", "hook", "scope")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    request: int
    hook: Hook
    scope: Scope
    def __init__(self, request: _Optional[int] = ..., hook: _Optional[_Union[Hook, _Mapping]] = ..., scope: _Optional[_Union[Scope, _Mapping]] = ...) -> None: ...

class Scope(_message.Message):
    __slots__ = ("own", "session_id", "everything")
    class Own(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class Everything(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    OWN_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    own: Scope.Own
    session_id: str
    everything: Scope.Everything
    def __init__(self, own: _Optional[_Union[Scope.Own, _Mapping]] = ..., session_id: _Optional[str] = ..., everything: _Optional[_Union[Scope.Everything, _Mapping]] = ...) -> None: ...

class Registered(_message.Message):
    __slots__ = ("request", "error")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request: int
    error: str
    def __init__(self, request: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class Unregister(_message.Message):
    __slots__ = ("request", "name")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    request: int
    name: str
    def __init__(self, request: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...

class Unregistered(_message.Message):
    __slots__ = ("request", "error")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    request: int
    error: str
    def __init__(self, request: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class Hook(_message.Message):
    __slots__ = ("name", "point", "role", "match", "priority", "before", "after", "timeout_ms", "max_retries", "on_failure", "shadow", "detached")
    NAME_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    MATCH_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_RETRIES_FIELD_NUMBER: _ClassVar[int]
    ON_FAILURE_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    DETACHED_FIELD_NUMBER: _ClassVar[int]
    name: str
    point: str
    role: Role
    match: Matcher
    priority: int
    before: _containers.RepeatedScalarFieldContainer[str]
    after: _containers.RepeatedScalarFieldContainer[str]
    timeout_ms: int
    max_retries: int
    on_failure: FailurePolicy
    shadow: bool
    detached: bool
    def __init__(self, name: _Optional[str] = ..., point: _Optional[str] = ..., role: _Optional[_Union[Role, str]] = ..., match: _Optional[_Union[Matcher, _Mapping]] = ..., priority: _Optional[int] = ..., before: _Optional[_Iterable[str]] = ..., after: _Optional[_Iterable[str]] = ..., timeout_ms: _Optional[int] = ..., max_retries: _Optional[int] = ..., on_failure: _Optional[_Union[FailurePolicy, str]] = ..., shadow: bool = ..., detached: bool = ...) -> None: ...

class Matcher(_message.Message):
    __slots__ = ("tool", "path", "command", "session", "agent", "step", "metadata", "args", "all", "any", "attributes")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Test
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Test, _Mapping]] = ...) -> None: ...
    class ArgsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Test
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Test, _Mapping]] = ...) -> None: ...
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Patterns
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Patterns, _Mapping]] = ...) -> None: ...
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    ANY_FIELD_NUMBER: _ClassVar[int]
    NOT_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    tool: _containers.RepeatedScalarFieldContainer[str]
    path: _containers.RepeatedScalarFieldContainer[str]
    command: _containers.RepeatedScalarFieldContainer[str]
    session: _containers.RepeatedScalarFieldContainer[str]
    agent: _containers.RepeatedScalarFieldContainer[str]
    step: str
    metadata: _containers.MessageMap[str, Test]
    args: _containers.MessageMap[str, Test]
    all: _containers.RepeatedCompositeFieldContainer[Matcher]
    any: _containers.RepeatedCompositeFieldContainer[Matcher]
    attributes: _containers.MessageMap[str, Patterns]
    def __init__(self, tool: _Optional[_Iterable[str]] = ..., path: _Optional[_Iterable[str]] = ..., command: _Optional[_Iterable[str]] = ..., session: _Optional[_Iterable[str]] = ..., agent: _Optional[_Iterable[str]] = ..., step: _Optional[str] = ..., metadata: _Optional[_Mapping[str, Test]] = ..., args: _Optional[_Mapping[str, Test]] = ..., all: _Optional[_Iterable[_Union[Matcher, _Mapping]]] = ..., any: _Optional[_Iterable[_Union[Matcher, _Mapping]]] = ..., attributes: _Optional[_Mapping[str, Patterns]] = ..., **kwargs) -> None: ...

class Patterns(_message.Message):
    __slots__ = ("any",)
    ANY_FIELD_NUMBER: _ClassVar[int]
    any: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, any: _Optional[_Iterable[str]] = ...) -> None: ...

class Test(_message.Message):
    __slots__ = ("exists", "equals", "matches")
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    EQUALS_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    exists: bool
    equals: _struct_pb2.Value
    matches: str
    def __init__(self, exists: bool = ..., equals: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., matches: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("id", "hook", "point", "session_id", "json", "deadline_ms")
    ID_FIELD_NUMBER: _ClassVar[int]
    HOOK_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    id: int
    hook: str
    point: str
    session_id: str
    json: str
    deadline_ms: int
    def __init__(self, id: _Optional[int] = ..., hook: _Optional[str] = ..., point: _Optional[str] = ..., session_id: _Optional[str] = ..., json: _Optional[str] = ..., deadline_ms: _Optional[int] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("id", "json", "failed")
    ID_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    id: int
    json: str
    failed: str
    def __init__(self, id: _Optional[int] = ..., json: _Optional[str] = ..., failed: _Optional[str] = ...) -> None: ...

class Withdrawn(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: int
    def __init__(self, id: _Optional[int] = ...) -> None: ...

class Draining(_message.Message):
    __slots__ = ("within_ms",)
    WITHIN_MS_FIELD_NUMBER: _ClassVar[int]
    within_ms: int
    def __init__(self, within_ms: _Optional[int] = ...) -> None: ...

class FireRequest(_message.Message):
    __slots__ = ("event_json", "session_id")
    EVENT_JSON_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    event_json: str
    session_id: str
    def __init__(self, event_json: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class FireResponse(_message.Message):
    __slots__ = ("judgement_json", "record_json")
    JUDGEMENT_JSON_FIELD_NUMBER: _ClassVar[int]
    RECORD_JSON_FIELD_NUMBER: _ClassVar[int]
    judgement_json: str
    record_json: str
    def __init__(self, judgement_json: _Optional[str] = ..., record_json: _Optional[str] = ...) -> None: ...

class ListHooksRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ListHooksResponse(_message.Message):
    __slots__ = ("hooks",)
    HOOKS_FIELD_NUMBER: _ClassVar[int]
    hooks: _containers.RepeatedCompositeFieldContainer[HookInfo]
    def __init__(self, hooks: _Optional[_Iterable[_Union[HookInfo, _Mapping]]] = ...) -> None: ...

class HookInfo(_message.Message):
    __slots__ = ("name", "point", "role", "priority", "client_id", "enabled")
    NAME_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    name: str
    point: str
    role: Role
    priority: int
    client_id: str
    enabled: bool
    def __init__(self, name: _Optional[str] = ..., point: _Optional[str] = ..., role: _Optional[_Union[Role, str]] = ..., priority: _Optional[int] = ..., client_id: _Optional[str] = ..., enabled: bool = ...) -> None: ...
