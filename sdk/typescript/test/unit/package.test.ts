import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { VERSION } from "../../src/index.js";

const root = join(import.meta.dirname, "../../..");
const text = (...path: string[]): string => readFileSync(join(root, ...path), "utf8");

test("the version is the package's", () => {
  assert.equal(VERSION, JSON.parse(text("package.json")).version);
});

test("the lock file names versions and no place to get them from", () => {
  const { packages } = JSON.parse(text("package-lock.json")) as { packages: Record<string, object> };
  const placed = Object.entries(packages).filter(([, entry]) => "resolved" in entry);
  assert.deepEqual(placed, []);
});

test("every file of ours is one idea: it says what it is for, and is short", () => {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".ts") && !name.startsWith("gen"))) {
    const lines = text("src", file).split("\n");
    assert.ok(lines.length <= 300, `${file} has ${lines.length} lines`);
    assert.match(lines[0] ?? "", /^\/\/ |^\/\*\*/, file);
  }
});
