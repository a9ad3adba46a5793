import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerError, allow, deny, goOn, recover, replace, retry, skip, stop } from "../../src/index.js";
import { type Role, written } from "../../src/points/answer.js";
import type { PointName } from "../../src/points/table.js";

test("an answer crosses in the runtime's own form", () => {
  const cases: [PointName, unknown, unknown][] = [
    ["BeforeToolUse", deny("no"), { verdict: "deny", reason: "no" }],
    ["BeforeToolUse", { ...allow(), patch: { timeout_ms: 5 } }, { verdict: "allow", patch: { timeout_ms: 5 } }],
    ["BeforeToolUse", { set: { command: "ls" }, context: "a" }, { set: { command: "ls" }, context: "a" }],
    ["BeforeToolUse", retry(20), { verdict: "retry", after_ms: 20 }],
    [
      "BeforeToolUse",
      replace("cached"),
      { verdict: "replace", with: { status: "done", success: true, output: "cached", duration_ms: 0 } },
    ],
    [
      "ToolUseFailed",
      recover({ output: "as good", exit_code: 3 }),
      {
        verdict: "recover",
        with: { status: "failed", success: false, output: "as good", exit_code: 3, duration_ms: 0 },
      },
    ],
    ["BeforeInference", replace("I said it"), { verdict: "replace", with: { text: "I said it" } }],
    ["OnError", recover("never mind"), { verdict: "recover", with: "never mind" }],
    ["ShouldContinue", goOn("and tests"), { verdict: "go_on", instruction: "and tests" }],
    ["AfterToolUse", { modified: { result: { output: "x" } } }, { modified: { result: { output: "x" } } }],
    ["SessionStart", { modified: { system_prompt: "p" } }, { modified: { system_prompt: "p" } }],
    ["SessionStart", deny("closed"), { verdict: "deny", reason: "closed" }],
    ["Output", { ...deny("secret") }, { verdict: "deny", reason: "secret" }],
    ["Output", { modified: { text: "***" } }, { modified: { text: "***" } }],
    ["SessionEnd", skip(), { verdict: "skip" }],
    ["BeforeToolUse", { ...deny("no"), context: undefined }, { verdict: "deny", reason: "no" }],
  ];
  for (const [point, answer, expected] of cases) {
    assert.deepEqual(JSON.parse(written(point, "hook", answer)), expected, point);
  }
});

test("no opinion is no text", () => {
  assert.equal(written("BeforeToolUse", "hook", undefined), "");
  assert.equal(written("BeforeToolUse", "guard", null), "");
  assert.equal(written("SessionEnd", "watch", undefined), "");
  assert.equal(written("BeforeToolUse", "hook", { verdict: "deny" }), '{"verdict":"deny"}');
});

test("an answer that its place cannot honour is an error that says what can be", () => {
  const cases: [PointName, Role, unknown, string][] = [
    ["PromptSubmit", "hook", stop("x"), "PromptSubmit cannot honour `stop`: it takes proceed, skip, deny"],
    ["SessionEnd", "hook", deny("x"), "SessionEnd cannot honour `deny`: it takes proceed, skip"],
    [
      "BeforeToolUse",
      "hook",
      { verdict: "denied" },
      "BeforeToolUse cannot honour `denied`: it takes proceed, skip, allow, ask, deny, replace, retry, stop",
    ],
    ["ShouldContinue", "hook", { verdict: "go_on" }, "go_on needs `instruction`"],
    ["BeforeToolUse", "hook", { verdict: "deny", reason: 4 }, "the reason of deny is a text, not 4"],
    ["BeforeToolUse", "hook", { verdict: "retry", after_ms: -1 }, "retry waits a whole number of milliseconds, not -1"],
    [
      "BeforeToolUse",
      "hook",
      { verdict: "allow", reason: "x" },
      "`reason` means nothing in this answer at BeforeToolUse",
    ],
    ["BeforeToolUse", "hook", { modifed: {} }, "`modifed` means nothing in this answer at BeforeToolUse"],
    ["BeforeToolUse", "hook", { modified: [] }, "`modified` is an object, not []"],
    ["BeforeToolUse", "hook", { modified: {}, patch: {} }, "`modified` and `patch` are two ways to change; use one"],
    ["BeforeToolUse", "hook", "deny", '`deny` is not an answer: return a verdict as in deny("…"), or nothing'],
    ["BeforeToolUse", "hook", true, 'true is not an answer: return a verdict as in deny("…"), or nothing'],
    [
      "BeforeToolUse",
      "guard",
      { patch: {} },
      "a guard at BeforeToolUse decides and changes nothing: make it a hook, or leave out `patch`",
    ],
    ["AfterStep", "hook", { set: { text: "x" } }, "nothing can be changed at AfterStep"],
    [
      "PromptSubmit",
      "hook",
      { set: { promt: "x" } },
      "`promt` cannot be changed at PromptSubmit; what can be is prompt, context",
    ],
    ["AfterToolUse", "watch", deny("x"), "a watch at AfterToolUse decides nothing: return nothing, or make it a hook"],
  ];
  for (const [point, role, answer, message] of cases) {
    assert.throws(() => written(point, role, answer), new AnswerError(message));
  }
});
