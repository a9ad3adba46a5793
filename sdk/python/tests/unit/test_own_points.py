"""Custom points: what the package checks of them before the server does."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from vertebra import HookError, PointError, VerdictError, ask, deny, own_point
from vertebra.registration import registration

DEPLOY = own_point("BeforeDeploy", verdicts=("deny",), attributes=("service",), changes=("replicas",))


def test_a_hook_at_an_own_point_goes_to_the_server_with_its_attributes():
    made = registration("guard", DEPLOY, {"service": ["api-*", "bank"], "name": "monday"}, lambda _: None)
    assert (made.hook.point, made.hook.name) == ("BeforeDeploy", "monday")
    assert list(made.hook.match.attributes["service"].any) == ["api-*", "bank"]


def test_an_attribute_that_the_point_lacks_is_an_error_with_the_nearest_one():
    with pytest.raises(HookError, match=r"a guard at BeforeDeploy has no option `sevice`; did you mean `service`\?"):
        registration("guard", DEPLOY, {"sevice": "bank", "name": "x"}, lambda _: None)


def test_a_guard_needs_a_point_that_can_refuse():
    with pytest.raises(PointError, match="a guard is not possible at AfterDeploy"):
        registration("guard", own_point("AfterDeploy"), {"name": "x"}, lambda _: None)


def test_an_answer_that_the_point_lacks_is_an_error():
    async def respond(verdict: object) -> str:
        made = registration("guard", DEPLOY, {"name": "x"}, lambda _: verdict)
        with ThreadPoolExecutor(1) as threads:
            return await made.respond('{"point": "BeforeDeploy"}', threads)

    def answered(verdict: object) -> str:
        return asyncio.run(respond(verdict))

    assert json.loads(answered(deny("no"))) == {"verdict": "deny", "reason": "no"}
    with pytest.raises(VerdictError, match="BeforeDeploy cannot honour `ask`"):
        answered(ask("sure?"))
