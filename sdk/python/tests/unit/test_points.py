"""Points, events and answers are those of the runtime, which describes them in `sdk/points.json`."""

from __future__ import annotations

import json
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import NotRequired, get_type_hints, is_typeddict

from vertebra import (
    POINTS,
    Verdict,
    allow,
    ask,
    deny,
    events,
    go_on,
    halt,
    hold,
    proceed,
    recover,
    replace,
    retry,
    skip,
    stop,
)
from vertebra.answers import wire_answer

DESCRIBED: list[dict[str, Any]] = json.loads((Path(__file__).parents[3] / "points.json").read_text())["points"]


def test_every_point_is_there_in_the_order_of_an_agents_life():
    assert [point["name"] for point in DESCRIBED] == list(POINTS)


@pytest.mark.parametrize("described", DESCRIBED, ids=lambda described: described["name"])
def test_a_point_is_as_the_runtime_has_it(described: dict[str, Any]):
    point = POINTS[described["name"]]
    assert list(point.aliases) == described["aliases"]
    assert ["proceed", "skip", *point.verdicts] == described["verdicts"]
    assert point.guards == described["guards"]
    assert (point.opens if isinstance(point.opens, str) else list(point.opens)) == described["changes"]
    assert list(point.attributes) == described["attributes"]


@pytest.mark.parametrize("described", DESCRIBED, ids=lambda described: described["name"])
def test_an_event_has_the_type_of_its_point(described: dict[str, Any]):
    assert list(wrong(described["event"], getattr(events, f"{described['name']}Event"), "event")) == []


def test_an_event_of_another_type_is_noticed():
    event = {**DESCRIBED[0]["event"], "depth": "0", "more": 1}
    del event["agent"]
    assert list(wrong(event, events.SessionStartEvent, "event")) == [
        "event.more is not known",
        "event.agent is missing",
        "event.depth is '0', not <class 'int'>",
    ]


def wrong(value: Any, kind: Any, at: str) -> typing.Iterator[str]:
    """Where a value is not of its type."""
    if kind is Any:
        return
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        yield from (f"{at}.{key} is not known" for key in value if key not in hints)
        for key, hint in hints.items():
            may_be_missing = typing.get_origin(hint) is NotRequired
            if key in value:
                yield from wrong(value[key], typing.get_args(hint)[0] if may_be_missing else hint, f"{at}.{key}")
            elif not may_be_missing:
                yield f"{at}.{key} is missing"
        return
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if all(any(True for _ in wrong(value, one, at)) for one in args):
            yield f"{at} is {value!r}, not {kind}"
    elif origin is typing.Literal:
        if value not in args:
            yield f"{at} is {value!r}, not one of {args}"
    elif origin is list:
        for number, item in enumerate(value):
            yield from wrong(item, args[0], f"{at}[{number}]")
    elif origin is dict:
        for key, item in value.items():
            yield from wrong(item, args[1], f"{at}.{key}")
    elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield f"{at} is {value!r}, not {kind}"


ANSWERS = [
    (described["name"], answer)
    for described in DESCRIBED
    for answer in described["answers"]
    if answer["verdict"] != "proceed"
]


@pytest.mark.parametrize(
    ("point", "wire"), ANSWERS, ids=lambda part: part if isinstance(part, str) else part["verdict"]
)
def test_every_answer_of_a_point_can_be_written(point: str, wire: dict[str, Any]):
    made: dict[str, Verdict] = {
        "skip": skip(),
        "allow": allow(),
        "ask": ask(wire.get("reason", "")),
        "deny": deny(wire.get("reason", "")),
        "stop": stop(wire.get("reason", "")),
        "halt": halt(wire.get("reason", "")),
        "hold": hold(),
        "go_on": go_on(wire.get("instruction", "")),
        "retry": retry(wire.get("after_ms", 0) / 1000),
        "replace": replace(wire.get("with", "")),
        "recover": recover(wire.get("with", "")),
    }
    assert wire_answer(POINTS[point], "hook", made[wire["verdict"]]) == wire


def test_no_opinion_is_an_empty_answer():
    assert wire_answer(POINTS["BeforeToolUse"], "guard", proceed()) == {}
