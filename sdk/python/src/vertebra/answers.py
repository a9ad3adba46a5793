"""Checks answers and converts them to the wire form. An invalid answer raises an error that says why."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

from .errors import VerdictError
from .points import ARGS, Point
from .verdicts import Ask, Deny, Edited, GoOn, Halt, Proceed, Recover, Replace, Retry, Stop, Told, Verdict, tool_result

Role = Literal["hook", "guard", "watch"]


def wire_answer(point: Point, role: Role, answer: object) -> dict[str, Any]:
    """The answer in its wire form. `VerdictError` if the point or the role cannot take it."""
    if answer is None:
        return {}
    if role == "watch":
        raise VerdictError(f"a watch decides nothing: it returns None, not {answer!r}")
    if isinstance(answer, Verdict):
        return _verdict(point, answer)
    if not isinstance(answer, Edited):
        raise VerdictError(f"{answer!r} is not an answer: return {_words(point)}, or None")
    if role == "guard":
        raise VerdictError("a guard decides and changes nothing: make it a hook with `on`, or leave the change out")
    edited = cast("Edited[Verdict]", answer)
    wire = _verdict(point, edited.verdict)
    wire.update(_change(point, edited))
    if edited.context:
        wire["context"] = list(edited.context)
    if edited.notes:
        wire["note"] = edited.notes[-1]
    return wire


def to_json(answer: dict[str, Any]) -> str:
    """The answer as text; empty has no opinion."""
    if not answer:
        return ""
    try:
        return json.dumps(answer, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise VerdictError(f"the answer is not JSON: {error}") from error


def _words(point: Point) -> str:
    words = ("proceed", "skip", *point.verdicts)
    return ", ".join(f"`{word}(…)`" for word in words)


def _verdict(point: Point, verdict: Verdict) -> dict[str, Any]:
    if not point.honours(verdict.word):
        raise VerdictError(f"{point.name} cannot honour `{verdict.word}`: what it takes is {_words(point)}")
    match verdict:
        case Proceed():
            return {}
        case Ask("") | Deny("") | Stop("") | Halt(""):
            # A denial without a reason is still a denial.
            return {"verdict": verdict.word}
        case Ask(reason) | Deny(reason) | Stop(reason) | Halt(reason):
            return {"verdict": verdict.word, "reason": reason}
        case GoOn(instruction):
            return {"verdict": verdict.word, "instruction": instruction}
        case Retry(after_ms):
            return {"verdict": verdict.word, "after_ms": after_ms}
        case Replace() | Recover():
            return {"verdict": verdict.word, "with": _result(point, cast("Replace[object]", verdict).result)}
        case _:
            return {"verdict": verdict.word}


def _result(point: Point, result: object) -> object:
    """Returns a replacement result in the form of its point. A plain text is the short form."""
    if point.name == "OnError":
        if not isinstance(result, str):
            raise VerdictError('at OnError a failure is made good by a text: `recover("…")`')
        return result
    if not isinstance(result, str):
        return result
    return {"text": result} if point.name == "BeforeInference" else tool_result(result)


def _change(point: Point, answer: Edited[Verdict]) -> dict[str, Any]:
    changes = {"modified": answer.modified, "patch": answer.patched, "set": answer.fields}
    given = {key: value for key, value in changes.items() if value is not None}
    if not given or isinstance(answer, Told):
        return {}
    if not point.opens:
        raise VerdictError(f"nothing can be changed at {point.name}")
    if point.opens != ARGS:
        (change,) = given.values()
        wrong = next((key for key in change if key not in point.opens), None)
        if wrong is not None:
            raise VerdictError(f"`{wrong}` cannot be changed at {point.name}; what can be is {', '.join(point.opens)}")
    return given
