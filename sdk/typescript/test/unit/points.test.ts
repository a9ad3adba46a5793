import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { wireMatcher } from "../../src/hooks/match.js";
import { ask, deny, ownPoint, POINTS, type PointName, pointNamed } from "../../src/index.js";
import { written } from "../../src/points/answer.js";
import { ALIASES } from "../../src/points/names.js";

interface Row {
  readonly name: PointName;
  readonly aliases: readonly string[];
  readonly verdicts: readonly string[];
  readonly guards: boolean;
  readonly changes: "args" | readonly string[];
  readonly answers: readonly object[];
}

/** The points as the runtime has them. */
const runtime: readonly Row[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../../points.json"), "utf8"),
).points;

test("points, and what each honours and lets be changed, are those of the runtime", () => {
  const ours = Object.entries(POINTS).map(([name, { verdicts, guard, change }]) => ({
    name,
    aliases: Object.entries(ALIASES).flatMap(([alias, point]) => (point === name ? [alias] : [])),
    verdicts: ["proceed", "skip", ...verdicts],
    guards: guard,
    changes: change,
  }));
  const theirs = runtime.map(({ name, aliases, verdicts, guards, changes }) => {
    return { name, aliases, verdicts, guards, changes };
  });
  assert.deepEqual(ours, theirs);
});

test("every answer of the runtime crosses as it is", () => {
  for (const { name, answers, guards } of runtime) {
    for (const answer of answers) {
      assert.deepEqual(JSON.parse(written(name, "hook", answer)), answer);
      if (guards) assert.deepEqual(JSON.parse(written(name, "guard", answer)), answer);
    }
  }
});

test("every spelling of a point is understood", () => {
  const cases: [string, PointName | undefined][] = [
    ["PreToolUse", "BeforeToolUse"],
    ["pre_tool_use", "BeforeToolUse"],
    ["before-tool-use", "BeforeToolUse"],
    ["generateEnd", "AfterInference"],
    ["Stop", "ShouldContinue"],
    ["BeforeToolUze", undefined],
  ];
  for (const [name, point] of cases) assert.equal(pointNamed(name), point, name);
});

test("an own point takes the answers that are declared and no others", () => {
  const deploy = ownPoint<{ service: string }>("BeforeDeploy", { verdicts: ["deny"], changes: ["replicas"] });
  assert.deepEqual(JSON.parse(written(deploy, "guard", deny("no"))), { verdict: "deny", reason: "no" });
  assert.deepEqual(JSON.parse(written(deploy, "hook", { set: { replicas: 2 } })), { set: { replicas: 2 } });
  assert.throws(() => written(deploy, "guard", ask("sure?")), /BeforeDeploy cannot honour `ask`/);
  assert.throws(
    () => written(deploy, "hook", { set: { service: "x" } }),
    /`service` cannot be changed at BeforeDeploy/,
  );
});

test("the attributes of an own point go to the server", () => {
  const { attributes } = wireMatcher({ attributes: { service: ["api-*", "bank"], tier: "gold" } });
  assert.deepEqual(
    Object.entries(attributes).map(([key, { any }]) => [key, any]),
    [
      ["service", ["api-*", "bank"]],
      ["tier", ["gold"]],
    ],
  );
});
