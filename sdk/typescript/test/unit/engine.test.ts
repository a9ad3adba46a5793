import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type FiredEvent,
  Hook,
  HookEngine,
  HookEventType,
  HookMatcher,
  HookResponse,
  type HookResult,
  type PreToolUsePayload,
} from "../../src/index.js";

const call = (fields: Partial<PreToolUsePayload> = {}): FiredEvent => ({
  event_type: "pre_tool_use",
  payload: {
    session_id: "session-1",
    tool: "Bash",
    args: { command: "ls" },
    working_directory: "/repo",
    recent_tools: [],
    ...fields,
  },
});

const used: FiredEvent = {
  event_type: "post_tool_use",
  payload: {
    session_id: "session-1",
    tool: "Bash",
    args: { command: "ls" },
    result: { success: true, output: "a key: 1234", duration_ms: 5 },
  },
};

const opened: FiredEvent = {
  event_type: "session_start",
  payload: { session_id: "session-1", model_provider: "p", model_name: "m" },
};

/** Who ran, and what came of each. */
const ran = ({ hooks }: HookResult): string[] =>
  hooks.map(({ hook, ran, action }) => [hook, ran, action].join(" ").trim());

/** An engine with hooks before tools that answer like this. */
function engineOf(hooks: Record<string, { priority?: number; answer: () => unknown }>): HookEngine {
  const engine = new HookEngine();
  for (const [id, { priority = 100, answer }] of Object.entries(hooks)) {
    engine.register({ id, event_type: "pre_tool_use", config: { priority } });
    engine.register_handler(id, { handle: answer as () => HookResponse });
  }
  return engine;
}

test("a hook blocks what it matches, and nothing else", async () => {
  const engine = new HookEngine();
  engine.register(
    Hook.new("block-rm-rf", HookEventType.PreToolUse)
      .with_matcher(HookMatcher.command("rm\\s+-rf"))
      .with_config({ priority: 1 }),
  );
  engine.register_handler("block-rm-rf", { handle: () => HookResponse.block("not like this") });

  const blocked = await engine.fire(call({ args: { command: "rm  -rf build" } }));
  assert.deepEqual([blocked.action, blocked.reason, blocked.decided_by], ["Block", "not like this", "block-rm-rf"]);
  const free = await engine.fire(call({ args: { command: "rm build" } }));
  assert.deepEqual([free.action, free.decided_by, free.hooks], ["Continue", null, []]);
});

test("hooks run by priority, then in the order they were registered, and see what the one before left", async () => {
  const add =
    (word: string) =>
    ({ payload }: { payload: { args: { command: string } } }) =>
      HookResponse.continue_with({ command: `${payload.args.command} ${word}` });
  const engine = engineOf({
    last: { priority: 1000, answer: add("last") as never },
    first: { priority: 1, answer: add("first") as never },
    second: { priority: 10, answer: add("second") as never },
    third: { priority: 10, answer: add("third") as never },
  });
  const result = await engine.fire(call());
  assert.deepEqual(result.modified, { command: "ls first second third last" });
  assert.equal(result.decided_by, null);
  assert.deepEqual(
    result.hooks.map(({ hook }) => hook),
    ["first", "second", "third", "last"],
  );
});

test("a later hook is chosen by what an earlier one wrote", async () => {
  const engine = engineOf({
    rewrite: { priority: 1, answer: () => HookResponse.continue_with({ command: "git push" }) },
  });
  engine.register({ id: "git", event_type: "pre_tool_use", matcher: { command_pattern: "^git\\s+" } });
  engine.register_handler("git", { handle: () => HookResponse.block("no pushing") });
  assert.equal((await engine.fire(call())).decided_by, "git");
});

test("block, retry and skip end it for the hooks behind", async () => {
  const cases: [HookResponse, Partial<HookResult>][] = [
    [HookResponse.block("no"), { action: "Block", reason: "no", decided_by: "one" }],
    [HookResponse.retry(50), { action: "Retry", retry_delay_ms: 50, decided_by: "one" }],
    [HookResponse.skip(), { action: "Skip", decided_by: "one" }],
  ];
  for (const [answer, expected] of cases) {
    const engine = engineOf({
      one: { answer: () => answer },
      two: { answer: () => HookResponse.block("never asked") },
    });
    const result = await engine.fire(call());
    const { action, decided_by, reason, retry_delay_ms } = result;
    assert.deepEqual(JSON.parse(JSON.stringify({ action, reason, retry_delay_ms, decided_by })), expected);
    assert.deepEqual(ran(result), [`one answered ${answer.action}`, "two skipped"]);
  }
});

test("where it is too late to block, the run is stopped, and the hooks behind still run", async () => {
  const engine = new HookEngine();
  for (const id of ["one", "two"]) {
    engine.register({ id, event_type: "post_tool_use" });
    engine.register_handler(id, {
      handle: () => (id === "one" ? HookResponse.block("enough") : HookResponse.continue_()),
    });
  }
  const result = await engine.fire(used);
  assert.deepEqual([result.action, result.decided_by], ["Block", "one"]);
  assert.deepEqual(ran(result), ["one answered Block", "two answered Continue"]);
});

test("a result is changed by its fields", async () => {
  const engine = new HookEngine();
  engine.register({ id: "mask", event_type: "post_tool_use" });
  engine.register_handler("mask", { handle: async () => HookResponse.continue_with({ output: "a key: ****" }) });
  const { event, modified } = await engine.fire(used);
  assert.deepEqual(modified, { output: "a key: ****" });
  assert.deepEqual(event.event_type === "post_tool_use" && event.payload.result, {
    success: true,
    output: "a key: ****",
    duration_ms: 5,
  });
});

test("a handler that fails is a no where something can be refused, and nothing elsewhere", async () => {
  const handle = (): never => {
    throw new Error("oh no");
  };
  const engine = engineOf({ broken: { answer: handle } });
  engine.register({ id: "broken-later", event_type: "post_tool_use" });
  engine.register_handler("broken-later", { handle });
  const before = await engine.fire(call());
  assert.deepEqual(
    [before.action, before.reason, ran(before)],
    ["Block", "`broken` failed: oh no", ["broken failed Block"]],
  );
  const after = await engine.fire(used);
  assert.deepEqual([after.action, ran(after)], ["Continue", ["broken-later failed Continue"]]);
});

test("an answer that means nothing is a failure, never ignored", async () => {
  const cases: [unknown, string][] = [
    [undefined, 'a handler answers with an action: `{ action: "Continue" }`'],
    [{ action: "block" }, "unknown action `block`: known are Continue, Block, Retry, Skip"],
    [{ action: "Continue", reason: "x" }, "`reason` means nothing with Continue"],
    [{ action: "Continue", modifed: {} }, "`modifed` means nothing with Continue"],
    [{ action: "Continue", modified: 4 }, "`modified` is an object"],
    [{ action: "Retry" }, "Retry needs `retry_delay_ms`, a whole number from 0"],
    [{ action: "toString" }, "unknown action `toString`: known are Continue, Block, Retry, Skip"],
  ];
  for (const [answer, reason] of cases) {
    const result = await engineOf({ it: { answer: () => answer } }).fire(call());
    assert.deepEqual([result.action, result.reason], ["Block", `\`it\` failed: ${reason}`]);
  }
});

test("an answer that its point cannot honour is a failure of the handler", async () => {
  const cases: [HookResponse, string][] = [
    [HookResponse.retry(1), "nothing can be done again at session_start"],
    [
      HookResponse.continue_with({ prompt: "x" }),
      "`prompt` cannot be changed at session_start; what can be is system_prompt",
    ],
  ];
  for (const [answer, reason] of cases) {
    const engine = new HookEngine();
    engine.register({ id: "it", event_type: "SessionStart" });
    engine.register_handler("it", { handle: () => answer });
    const { hooks } = await engine.fire(opened);
    assert.deepEqual(hooks, [
      { hook: "it", ran: "failed", action: "Block", reason: `\`it\` failed: ${reason}`, attempts: 1 },
    ]);
  }
});

test("a handler has its time, and is asked again as often as it may fail", async () => {
  const engine = new HookEngine();
  engine.register({ id: "slow", event_type: "pre_tool_use", config: { timeout_ms: 5, max_retries: 1 } });
  engine.register_handler("slow", { handle: () => new Promise<HookResponse>(() => undefined) });
  const late = await engine.fire(call());
  assert.deepEqual([late.reason, late.hooks[0]?.attempts], ["`slow` failed: it gave no answer within 5 ms", 2]);

  let asked = 0;
  engine.register_handler("slow", {
    handle: () => {
      asked += 1;
      if (asked === 1) throw new Error("not yet");
      return HookResponse.continue_();
    },
  });
  const second = await engine.fire(call());
  assert.deepEqual([second.action, second.hooks[0]?.attempts], ["Continue", 2]);
});

test("a handler that fails leaves no trace on the event", async () => {
  const engine = new HookEngine();
  engine.register({ id: "vandal", event_type: "post_tool_use" });
  engine.register_handler<"post_tool_use">("vandal", {
    handle: ({ payload }) => {
      payload.result.output = "changed in place";
      throw new Error("and then failed");
    },
  });
  assert.deepEqual((await engine.fire(used)).event, used);
});

test("nobody waits for an async hook, and it decides nothing", async () => {
  const engine = engineOf({ gate: { answer: () => HookResponse.block("no") } });
  let seen: (tool: string) => void = () => undefined;
  const told = new Promise<string>((resolve) => (seen = resolve));
  engine.register({ id: "log", event_type: "pre_tool_use", config: { async_execution: true, priority: 1 } });
  engine.register_handler("log", {
    handle: async (event) => {
      seen(event.payload.tool);
      return HookResponse.block("ignored");
    },
  });
  const result = await engine.fire(call());
  assert.deepEqual(ran(result), ["gate answered Block", "log detached"]);
  assert.equal(result.decided_by, "gate");
  assert.equal(await told, "Bash");
});

test("a hook without a handler has no effect, and is shown", async () => {
  const engine = new HookEngine();
  engine.register(Hook.new("nobody", HookEventType.PreToolUse));
  assert.deepEqual(ran(await engine.fire(call())), ["nobody unhandled"]);
  assert.deepEqual(
    engine.all_hooks().map(({ id }) => id),
    ["nobody"],
  );
  assert.equal(engine.get_handler("nobody"), null);
});

test("hooks and handlers come and go by name", () => {
  const engine = new HookEngine();
  const hook = Hook.new("a", HookEventType.GenerateEnd);
  engine.register(hook);
  engine.register({ id: "b", event_type: "session_end", matcher: { session_id: "s" } });
  assert.equal(engine.hook_count(), 2);
  assert.equal(engine.get_hook("a"), hook);
  assert.equal(engine.get_hook("c"), null);
  engine.register(hook.with_config({ priority: 7 }));
  assert.deepEqual([engine.hook_count(), engine.get_hook("a")?.config.priority], [2, 7]);
  assert.equal(engine.unregister("a")?.id, "a");
  assert.equal(engine.unregister("a"), null);
  engine.register_handler("b", { handle: () => HookResponse.continue_() });
  engine.unregister_handler("b");
  assert.equal(engine.get_handler("b"), null);
  assert.throws(() => engine.register_handler("b", {} as never), /has a function `handle`/);
});

test("a hook has the usual values where nothing is said, and a slip of the pen is an error", () => {
  assert.deepEqual(Hook.new("a", "pre_tool_use").config, {
    priority: 100,
    timeout_ms: 30_000,
    async_execution: false,
    max_retries: 0,
  });
  const matcher = HookMatcher.new().with_tool("Bash").with_path("*.rs").with_command("x").with_session("s");
  assert.deepEqual({ ...matcher }, { tool: "Bash", path_pattern: "*.rs", command_pattern: "x", session_id: "s" });
  assert.deepEqual({ ...HookMatcher.path("src/**").with_session("s") }, { path_pattern: "src/**", session_id: "s" });
  const cases: [object, RegExp][] = [
    [{ id: "", event_type: "pre_tool_use" }, /a hook has an `id`/],
    [{ id: "a", event_type: "pre_tool" }, /unknown event type `pre_tool`: known are pre_tool_use, /],
    [{ id: "a", event_type: "pre_tool_use", matcher: { path: "*" } }, /a matcher has no `path`/],
    [{ id: "a", event_type: "pre_tool_use", matcher: { tool: 4 } }, /`tool` of a matcher is a text/],
    [{ id: "a", event_type: "pre_tool_use", config: { prio: 1 } }, /a hook's config has no `prio`/],
    [{ id: "a", event_type: "pre_tool_use", config: { timeout_ms: 0 } }, /`timeout_ms` is a whole number from 1/],
  ];
  for (const [fields, message] of cases) assert.throws(() => new HookEngine().register(fields as never), message);
});
