"""The cases of `conformance/cases`, with hooks of this package, against a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vertebra import (
    Client,
    HookError,
    Matcher,
    PointError,
    RegistrationError,
    RequestError,
    allow,
    ask,
    deny,
    exists,
    go_on,
    halt,
    hold,
    matches,
    proceed,
    recover,
    replace,
    retry,
    skip,
    stop,
)

from .conftest import Serve

CASES = Path(__file__).resolve().parents[4] / "conformance" / "cases"
RUNNERS = ("remote", "python")
REFUSALS = (PointError, HookError, RegistrationError, RequestError)


async def test_hooks_of_this_package_come_to_what_the_cases_say(serve: Serve):
    served = serve()
    wrong: list[str] = []
    for file, case in cases():
        saw: dict[str, Any] = {}
        async with serve.client(served) as client:
            found = await came(client, case, saw)
        if found != case["expect"]:
            wrong.append(f"{file}: {case['name']}\nexpected {case['expect']}\nfound    {found}")
        wrong += [f"{file}: {case['name']}\n{slip}" for hook in case["hooks"] for slip in unseen(hook, saw)]
    assert not wrong, "\n\n".join(wrong)


def cases() -> list[tuple[str, Any]]:
    """Every case that can be said from here."""
    files = [(path.name, json.loads(path.read_text())) for path in sorted(CASES.glob("*.json"))]
    said = [(name, case) for name, file in files for case in file["cases"]]
    assert said, f"there are no cases in {CASES}"
    return [(name, case) for name, case in said if not set(RUNNERS) & set(case.get("not_in", {}))]


async def came(client: Client, case: Any, saw: dict[str, Any]) -> Any:
    """What comes of a case, in the form that cases are written in."""
    try:
        for hook in case["hooks"]:
            put(client, hook, case, saw)
        fired = await client.fire(case["event"])
    except REFUSALS:
        return {"refused": True}
    return plain(fired.record, fired.judgement)


def put(client: Client, hook: Any, case: Any, saw: dict[str, Any]) -> None:
    """Registers a hook as people do, by a decorator."""
    known = ("name", "priority", "before", "after", "max_retries", "on_failure", "shadow", "detached")
    options: dict[str, Any] = {key: hook[key] for key in known if key in hook}
    if "timeout_ms" in hook:
        options["timeout"] = hook["timeout_ms"] / 1000
    if "match" in hook:
        options["match"] = matcher(hook["match"])
    decorate: Any = {"hook": client.on, "guard": client.guard, "watch": client.watch}[hook.get("role", "hook")]

    @decorate(hook.get("point", case["event"]["point"]), **options)
    async def handler(event: Any) -> Any:
        saw[hook["name"]] = event
        if "fails" in hook:
            raise RuntimeError(hook["fails"])
        if hook.get("hangs"):
            await asyncio.Event().wait()
        if "says" in hook:
            # An invalid answer is invalid here too; no answer means no opinion.
            return hook["says"].strip() or None
        return answer(hook["answers"]) if "answers" in hook else None


VERDICTS: dict[str, Callable[..., Any]] = {
    "proceed": proceed,
    "skip": skip,
    "allow": allow,
    "hold": hold,
    "ask": ask,
    "deny": deny,
    "stop": stop,
    "halt": halt,
    "go_on": go_on,
    "replace": replace,
    "recover": recover,
    "retry": lambda after_ms: retry(after_ms / 1000),
}
WITH = ("reason", "instruction", "with", "after_ms")
CHANGES = ("modified", "patch", "set")


def answer(wire: Any) -> Any:
    """The answer as people write it; what they could not write is left as it is."""
    known = {"verdict", "context", "note", *WITH, *CHANGES}
    writable = isinstance(wire, dict) and set(wire) <= known and wire.get("verdict", "proceed") in VERDICTS
    if not writable or len(set(wire) & set(CHANGES)) > 1 or ("reason" in wire and "verdict" not in wire):
        return wire
    said = VERDICTS[wire.get("verdict", "proceed")](*[wire[key] for key in WITH if key in wire])
    if "context" in wire:
        texts = wire["context"]
        said = said.add_context(*([texts] if isinstance(texts, str) else texts))
    if "note" in wire:
        said = said.leave(wire["note"])
    if "modified" in wire:
        said = said.modify(wire["modified"])
    if "patch" in wire:
        said = said.patch(wire["patch"])
    if "set" in wire:
        said = said.set(**wire["set"])
    return said


def matcher(match: Mapping[str, Any]) -> Matcher:
    """A matcher as people write it: what must not be there is what does not exist."""
    fields: dict[str, Any] = {
        key: match[key] for key in ("tool", "path", "command", "session", "agent", "step") if key in match
    }
    absent: list[Matcher] = []
    for key in ("metadata", "args"):
        for at, test in match.get(key, {}).items():
            if test == {"exists": False}:
                there: dict[str, Any] = {key: {at: exists()}}
                absent.append(~Matcher(**there))
            else:
                fields.setdefault(key, {})[at] = holds(test)
    fields["all_of"] = [*[matcher(inner) for inner in match.get("all", [])], *absent]
    fields["any_of"] = [matcher(inner) for inner in match.get("any", [])]
    if "not" in match:
        fields["none_of"] = matcher(match["not"])
    return Matcher(**fields)


def holds(test: Mapping[str, Any]) -> Any:
    """What must hold for a value."""
    if "exists" in test:
        return exists()
    return matches(test["matches"]) if "matches" in test else test["equals"]


def unseen(hook: Any, saw: Mapping[str, Any]) -> list[str]:
    """What a hook should have seen and did not."""
    wrong: list[str] = []
    for at, expected in hook.get("sees", {}).items():
        seen: Any = saw.get(hook["name"])
        for step in at[1:].split("/"):
            if isinstance(seen, list):
                seen = dict(enumerate(seen)).get(int(step))
            else:
                seen = seen.get(step) if isinstance(seen, dict) else None
        if seen != expected:
            wrong.append(f"{hook['name']} should see {expected!r} at {at}, and saw {seen!r}")
    return wrong


def plain(record: Any, judgement: Any) -> dict[str, Any]:
    """Without times, and without the words in which a failure is told."""
    by_failure = any(t["hook"] == record.get("decided_by") and t["ran"]["ran"] == "failed" for t in record["hooks"])
    effects = {key: value for key, value in judgement.get("effects", {}).items() if key != "shadow"}
    if by_failure:
        effects.pop("stop", None)
    made: dict[str, Any] = {
        "decision": judgement["decision"],
        "args": judgement["tool_input"],
        "context": judgement["model_context"] or None,
        "continue": False if judgement["continue"] is False else None,
        "effects": effects or None,
    }
    made = {key: value for key, value in made.items() if value is not None}
    found: dict[str, Any] = {"hooks": [traced(trace) for trace in record["hooks"]]}
    found |= {key: record[key] for key in ("verdict", "decided_by", "reason") if key in record}
    if by_failure:
        found.pop("reason", None)
    return found | ({"judgement": made} if made else {})


def traced(trace: Any) -> dict[str, Any]:
    """One hook in a record."""
    ran, why = trace["ran"], trace["ran"].get("why", {})
    found = {key: trace[key] for key in ("hook", "role")}
    found |= {key: ran[key] for key in ("ran", "verdict", "reason", "policy", "attempts") if key in ran}
    found |= {key: why[key] for key in ("because", "by") if key in why}
    return found | {key: trace[key] for key in ("changes", "shadow") if key in trace}
