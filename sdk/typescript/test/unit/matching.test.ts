import assert from "node:assert/strict";
import { test } from "node:test";
import { nameGlob, pathGlob } from "../../src/engine/local/glob.js";
import { holds } from "../../src/engine/local/matching.js";
import { absolute, pathsIn } from "../../src/engine/local/paths.js";
import type { FiredEvent, MatcherFields } from "../../src/index.js";

test("a path glob keeps to folders unless told otherwise", () => {
  const cases: [string, string, boolean][] = [
    ["*.rs", "/repo/src/deep/lib.rs", true],
    ["*.rs", "lib.rs", true],
    ["src/*.rs", "src/lib.rs", true],
    ["src/*.rs", "src/deep/lib.rs", false],
    ["src/**/*.ts", "src/a/b/c.ts", true],
    ["src/**/*.ts", "src/c.ts", true],
    ["**/.env", "/repo/.env", true],
    ["**", "/anything/at/all", true],
    ["*foo*", "a/xfoox", true],
    ["*.{ts,js}", "a/b.js", true],
    ["src/a+b.rs", "src/a+b.rs", true],
    ["./src/a.rs", "src/a.rs", true],
    ["/etc/*", "/etc/passwd", true],
    ["/etc/*", "/etc/ssh/key", false],
    ["/etc/**", "/etc/ssh/key", true],
    ["src/[!a]?.rs", "src/bc.rs", true],
    ["src/[!a]?.rs", "src/ac.rs", false],
    ["src/a.rs", "src/aXrs", false],
  ];
  for (const [glob, path, expected] of cases) assert.equal(pathGlob(glob).test(path), expected, `${glob} on ${path}`);
  assert.throws(() => pathGlob("*.{ts"), SyntaxError);
  assert.equal(nameGlob("Read_*").test("read_file"), true);
});

test("paths are known by name or by look, and have one form", () => {
  const args = {
    file_path: "a.rs",
    text: "not/a path",
    to: "/abs",
    n: 1,
    edits: [{ path: "./b//c/../b.rs", note: "c" }],
    paths: ["d"],
  };
  assert.deepEqual(pathsIn(args, "/repo"), ["a.rs", "/repo/a.rs", "/abs", "b/b.rs", "/repo/b/b.rs", "d", "/repo/d"]);
  assert.equal(absolute("/repo", "../../../etc/passwd"), "/etc/passwd");
  assert.equal(absolute("/repo", "file:///etc/./passwd/"), "/etc/passwd");
});

test("a matcher asks for all that it names", () => {
  const event: FiredEvent = {
    event_type: "pre_tool_use",
    payload: {
      session_id: "s1",
      tool: "Write",
      args: { file_path: "/repo/src/a.ts", command: "git push" },
      working_directory: "/repo",
      recent_tools: [],
    },
  };
  const cases: [MatcherFields, boolean][] = [
    [{}, true],
    [{ tool: "write" }, true],
    [{ tool: "write_file" }, true],
    [{ tool: "Edit|Write" }, true],
    [{ tool: "W*" }, true],
    [{ tool: "/wri.e/" }, true],
    [{ tool: "Writer" }, false],
    [{ path_pattern: "*.ts" }, true],
    [{ path_pattern: "src/**" }, true],
    [{ path_pattern: "*.rs" }, false],
    [{ command_pattern: "^git\\s+" }, true],
    [{ command_pattern: "(?i)^GIT" }, true],
    [{ command_pattern: "^push" }, false],
    [{ session_id: "s1", tool: "Write", path_pattern: "*.ts" }, true],
    [{ session_id: "s2", tool: "Write" }, false],
  ];
  for (const [matcher, expected] of cases) assert.equal(holds(matcher, event), expected, JSON.stringify(matcher));
  assert.throws(() => holds({ command_pattern: "(" }, event), SyntaxError);
});

test("a matcher of tools holds for no event without one", () => {
  const event: FiredEvent = {
    event_type: "session_end",
    payload: { session_id: "s", total_tokens: 0, total_tool_calls: 0, duration_ms: 0 },
  };
  assert.equal(holds({ tool: "*" }, event), false);
  assert.equal(holds({ session_id: "s" }, event), true);
});
