import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, type Own, told } from "../../src/engine/translate.js";
import { HookResponse } from "../../src/index.js";
import { written } from "../../src/points/answer.js";

const head = {
  event_id: "run-1.1",
  session_id: "session-1",
  run_id: "run-1",
  agent: "agent",
  depth: 0,
  step: 1,
  timestamp: "1970-01-01T00:00:00Z",
  working_directory: "/repo",
};
const usage = { input_tokens: 900, output_tokens: 100, cache_read_tokens: 400, cache_write_tokens: 0, cost_micros: 7 };
const model = { provider: "script", name: "turns" };
const bash = {
  call_id: "c1",
  tool: "bash",
  aliases: ["Bash"],
  args: { command: "ls" },
  recent_tools: ["read_file", "mcp__x"],
};
const write = { ...bash, tool: "write_file", aliases: ["Write"], args: { path: "./src/../a.txt", content: "x" } };
const result = { status: "done", success: true, output: "a", exit_code: 0, duration_ms: 12, data: { k: 1 } } as const;
const offers = ["bash", "write_file", "mcp__x"].map((name) => ({ name, description: "", schema: {} }));
const request = {
  model,
  system_prompt: "be kind",
  messages: [
    { role: "user", text: "first" },
    { role: "assistant", text: "yes" },
    { role: "user", text: "second" },
    { role: "instruction", text: "by a hook", from: "h" },
  ],
  tools: offers,
} as const;
const response = { text: "done", calls: [{ id: "c1", tool: "write_file", args: { path: "a", content: "" } }], usage };

const before: Own = { ...head, point: "BeforeToolUse", ...bash };
const writing: Own = { ...head, point: "BeforeToolUse", ...write };
const after: Own = { ...head, point: "AfterToolUse", ...bash, result };
const asking: Own = { ...head, point: "BeforeInference", purpose: "step", ...request };
const asked: Own = { ...head, point: "AfterInference", purpose: "step", request, response, duration_ms: 30 };
const opened: Own = { ...head, point: "SessionStart", system_prompt: "be kind", model, resumed: false };
const closed: Own = {
  ...head,
  point: "SessionEnd",
  usage,
  total_tokens: 1000,
  total_tool_calls: 3,
  runs: 1,
  steps: 2,
  duration_ms: 50,
};

test("every event has the payload that its handlers know", () => {
  const session_id = "session-1";
  const cases: [Own, unknown][] = [
    [
      before,
      {
        session_id,
        tool: "Bash",
        args: { command: "ls" },
        working_directory: "/repo",
        recent_tools: ["Read", "mcp__x"],
      },
    ],
    [
      after,
      {
        session_id,
        tool: "Bash",
        args: { command: "ls" },
        result: { success: true, output: "a", exit_code: 0, duration_ms: 12 },
      },
    ],
    [
      asking,
      {
        session_id,
        prompt: "second",
        system_prompt: "be kind",
        model_provider: "script",
        model_name: "turns",
        available_tools: ["Bash", "Write", "mcp__x"],
      },
    ],
    [
      asked,
      {
        session_id,
        prompt: "second",
        response_text: "done",
        tool_calls: [{ id: "c1", tool: "Write", args: { file_path: "/repo/a", content: "" } }],
        usage: { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1000 },
        duration_ms: 30,
      },
    ],
    [opened, { session_id, system_prompt: "be kind", model_provider: "script", model_name: "turns" }],
    [closed, { session_id, total_tokens: 1000, total_tool_calls: 3, duration_ms: 50 }],
  ];
  for (const [event, payload] of cases) assert.deepEqual(told(event).payload, payload, event.point);
});

test("a file is known by its full path, however it was written", () => {
  const { payload } = told(writing);
  assert.deepEqual("args" in payload && payload.args, { file_path: "/repo/a.txt", content: "x" });
});

test("an action becomes what the point honours", () => {
  const cases: [Own, HookResponse, unknown][] = [
    [before, HookResponse.continue_(), {}],
    [before, HookResponse.skip(), { verdict: "skip" }],
    [before, HookResponse.block("no"), { verdict: "deny", reason: "no" }],
    [before, { action: "Block" }, { verdict: "deny", reason: "`h` blocked it" }],
    [before, HookResponse.retry(5), { verdict: "retry", after_ms: 5 }],
    [
      before,
      HookResponse.continue_with({ command: "ls", timeout: 30_000 }),
      { modified: { command: "ls", timeout_ms: 30_000 } },
    ],
    [after, HookResponse.block("enough"), { verdict: "stop", reason: "enough" }],
    [after, HookResponse.continue_with({ output: "b" }), { modified: { result: { ...result, output: "b" } } }],
    [asking, HookResponse.block("no"), { verdict: "deny", reason: "no" }],
    [opened, HookResponse.block("no"), { verdict: "deny", reason: "no" }],
    [asking, HookResponse.retry(5000), { verdict: "retry", after_ms: 5000 }],
    [
      asking,
      HookResponse.continue_with({ prompt: "third", model_name: "other", available_tools: ["Bash"] }),
      {
        modified: {
          model: { provider: "script", name: "other" },
          messages: request.messages.map((message, place) => (place === 2 ? { role: "user", text: "third" } : message)),
          tools: offers.slice(0, 1),
        },
      },
    ],
    [asked, HookResponse.block("enough"), { verdict: "stop", reason: "enough" }],
    [
      asked,
      HookResponse.continue_with({ response_text: "…", tool_calls: [] }),
      { modified: { response: { ...response, text: "…", calls: [] } } },
    ],
    [opened, HookResponse.continue_with({ system_prompt: "be brief" }), { modified: { system_prompt: "be brief" } }],
    [closed, HookResponse.skip(), { verdict: "skip" }],
  ];
  for (const [event, action, expected] of cases) {
    const answer = answerOf(event, action, "h");
    assert.deepEqual(answer, expected, event.point);
    assert.doesNotThrow(() => written(event.point, "hook", answer));
  }
});

test("what a handler hands back as it was shown is left as it was", () => {
  const { payload } = told(writing);
  const args = "args" in payload ? payload.args : {};
  assert.deepEqual(answerOf(writing, HookResponse.continue_with({ ...args, content: "y" }), "h"), {
    modified: { path: "./src/../a.txt", content: "y" },
  });
  assert.deepEqual(answerOf(writing, HookResponse.continue_with({ ...args, file_path: "/tmp/b" }), "h"), {
    modified: { path: "/tmp/b", content: "x" },
  });
});

test("what a point cannot honour is an error", () => {
  const cases: [Own, HookResponse, RegExp][] = [
    [closed, HookResponse.block("no"), /nothing can be blocked at session_end/],
    [closed, HookResponse.retry(1), /nothing can be done again at session_end/],
    [closed, HookResponse.continue_with({}), /cannot be changed at session_end; nothing can be/],
    [asked, HookResponse.continue_with({ usage: {} }), /`usage` cannot be changed at generate_end/],
    [asking, HookResponse.continue_with({ available_tools: ["Nope"] }), /`Nope` is not among the tools/],
  ];
  for (const [event, action, message] of cases) assert.throws(() => answerOf(event, action, "h"), message);
});
