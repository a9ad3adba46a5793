"""A hook of a `HookEngine` as it is written down: when it runs, and under which terms."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from typing_extensions import TypedDict, Unpack

from .errors import HookError
from .glob import path_regex, tool_regex
from .payloads import HookEventType
from .points import did_you_mean


class ConfigDict(TypedDict, total=False):
    """A configuration as a dictionary. What is left out has its usual value."""

    priority: int
    timeout_ms: int
    async_execution: bool
    max_retries: int


class MatcherDict(TypedDict, total=False):
    """A matcher as a dictionary."""

    tool: str
    path_pattern: str
    command_pattern: str
    session_id: str


def _known(what: str, given: Mapping[str, Any], keys: list[str]) -> None:
    wrong = next((key for key in given if key not in keys), None)
    if wrong is not None:
        raise HookError(f"{what} has no `{wrong}`{did_you_mean(wrong, keys)}")


@dataclass(frozen=True)
class HookConfig:
    """How a hook runs."""

    priority: int = 100
    """Lower runs first."""
    timeout_ms: int = 30_000
    """How long the handler may take."""
    async_execution: bool = False
    """The server does not wait for the handler and ignores its answer."""
    max_retries: int = 0
    """How often a handler that failed is tried again."""

    def __post_init__(self) -> None:
        if self.timeout_ms <= 0:
            raise HookError("`timeout_ms` is more than 0")
        if self.max_retries < 0:
            raise HookError("`max_retries` is not less than 0")

    def changed(self, **changes: Unpack[ConfigDict]) -> HookConfig:
        """The same with other values."""
        _known("a configuration", changes, [field.name for field in dataclasses.fields(self)])
        return dataclasses.replace(self, **changes)


_MATCHER_KEYS = ["tool", "path_pattern", "command_pattern", "session_id"]


@dataclass(frozen=True)
class MatcherFields:
    """What a matcher asks for; all that is given has to hold."""

    tool: str | None = None
    path_pattern: str | None = None
    command_pattern: str | None = None
    session_id: str | None = None


class HookMatcher:
    """Says when a hook runs. All that is given has to hold; a matcher of nothing holds always.

    The fields are read through `fields`, because `tool`, `path`, `command` and `session` are ways to make one.
    """

    def __init__(
        self,
        tool: str | None = None,
        path_pattern: str | None = None,
        command_pattern: str | None = None,
        session_id: str | None = None,
    ) -> None:
        self.fields = MatcherFields(tool, path_pattern, command_pattern, session_id)
        for pattern, read in ((tool, tool_regex), (path_pattern, path_regex), (command_pattern, re.compile)):
            try:
                if pattern is not None:
                    read(pattern)
            except re.error as error:
                raise HookError(f"invalid pattern `{pattern}`: {error}") from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HookMatcher) and other.fields == self.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        given = [
            f"{key}={getattr(self.fields, key)!r}" for key in _MATCHER_KEYS if getattr(self.fields, key) is not None
        ]
        return f"HookMatcher({', '.join(given)})"

    @staticmethod
    def new() -> HookMatcher:
        """Holds always."""
        return HookMatcher()

    @staticmethod
    def tool(name: str) -> HookMatcher:
        """A tool, by its name; `edit|write`, `read_*` and `/regex/` are patterns. Case does not matter."""
        return HookMatcher(tool=name)

    @staticmethod
    def path(pattern: str) -> HookMatcher:
        """A file, by a glob: `*` stays in a folder, `**` crosses folders, `*.rs` is meant at any depth."""
        return HookMatcher(path_pattern=pattern)

    @staticmethod
    def command(pattern: str) -> HookMatcher:
        """A command, by a regular expression."""
        return HookMatcher(command_pattern=pattern)

    @staticmethod
    def session(session_id: str) -> HookMatcher:
        """A session."""
        return HookMatcher(session_id=session_id)

    @staticmethod
    def from_dict(given: MatcherDict) -> HookMatcher:
        """A matcher from a dictionary."""
        _known("a matcher", given, _MATCHER_KEYS)
        return HookMatcher(**given)

    def _changed(self, **changes: str) -> HookMatcher:
        return HookMatcher(**(dataclasses.asdict(self.fields) | changes))

    def with_tool(self, name: str) -> HookMatcher:
        """The same, and the tool has to be this one."""
        return self._changed(tool=name)

    def with_path(self, pattern: str) -> HookMatcher:
        """The same, and a path has to match."""
        return self._changed(path_pattern=pattern)

    def with_command(self, pattern: str) -> HookMatcher:
        """The same, and the command has to match."""
        return self._changed(command_pattern=pattern)

    def with_session(self, session_id: str) -> HookMatcher:
        """The same, and the session has to be this one."""
        return self._changed(session_id=session_id)


@dataclass(frozen=True)
class Hook:
    """A hook: its name, its event, when it runs and how."""

    id: str
    event_type: HookEventType
    matcher: HookMatcher | None = None
    config: HookConfig = field(default_factory=HookConfig)

    @staticmethod
    def new(id: str, event_type: HookEventType | str) -> Hook:  # noqa: A002 - the name it has everywhere
        """A hook that runs always, under the usual terms."""
        return Hook(id, _event_type(event_type))

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> Hook:
        """A hook from a dictionary: `{"id": …, "event_type": "pre_tool_use", "matcher": …, "config": …}`."""
        _known("a hook", given, ["id", "event_type", "matcher", "config"])
        if "id" not in given or "event_type" not in given:
            raise HookError("a hook has an `id` and an `event_type`")
        hook = Hook.new(str(given["id"]), given["event_type"])
        if given.get("matcher") is not None:
            hook = hook.with_matcher(given["matcher"])
        return hook.with_config(given["config"]) if given.get("config") is not None else hook

    def with_matcher(self, matcher: HookMatcher | MatcherDict) -> Hook:
        """The same hook, but it runs only when the matcher holds."""
        made = matcher if isinstance(matcher, HookMatcher) else HookMatcher.from_dict(matcher)
        return dataclasses.replace(self, matcher=made)

    def with_config(self, config: HookConfig | ConfigDict | None = None, **changes: Unpack[ConfigDict]) -> Hook:
        """The same hook under these terms: a `HookConfig`, a dictionary, or keywords. The rest is as usual."""
        base = config if isinstance(config, HookConfig) else HookConfig().changed(**(config or {}))
        return dataclasses.replace(self, config=base.changed(**changes))


def _event_type(name: HookEventType | str) -> HookEventType:
    """By its value, or by its name."""
    if isinstance(name, HookEventType):
        return name
    plain = str(cast("object", name)).replace("_", "").lower()
    found = next((known for known in HookEventType if known.name.lower() == plain), None)
    if found is None:
        near = did_you_mean(name, [known.value for known in HookEventType])
        raise HookError(f"unknown event type `{name}`{near}")
    return found
