import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { POINTS, type PointName, pointNamed } from "../../src/index.js";
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
