import assert from "node:assert/strict";
import { test } from "node:test";
import { Hook, HookEngine, HookEventType, HookMatcher, HookResponse } from "../../src/index.js";
import { FREE, prompted } from "./kit.js";
import { serving } from "./server.js";

const bash = (command: string) => ({ call: { tool: "bash", args: { command } } });
const limit = { timeout: 30_000 };

test("what a handler throws, or answers where it cannot, is a failure and never ignored", limit, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const engine = new HookEngine();
    engine.register({ id: "broken", event_type: "pre_tool_use" });
    engine.register_handler("broken", { handle: () => Promise.reject(new Error("oh no")) });
    engine.register({ id: "after", event_type: "post_tool_use" });
    engine.register_handler("after", { handle: () => HookResponse.continue_with({ text: "" }) });
    const client = await server.client();
    await engine.connect(client);
    const { results } = await prompted(client);
    assert.equal(results[0]?.status, "blocked");
    assert.match(results[0]?.output ?? "", /broken.*oh no/);
    assert.deepEqual(
      server.problems.map(({ message }) => message),
      [
        "the hook `broken` failed at BeforeToolUse: oh no",
        "the hook `after` failed at AfterToolUse: `text` cannot be changed at post_tool_use; what can be is success, " +
          "output, exit_code, duration_ms",
      ],
    );
  });
});

test("a hook without a handler is not in force and is told of; with one it is", limit, async () => {
  await serving({ turns: [bash("echo"), bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const engine = new HookEngine();
    engine.register(Hook.new("later", HookEventType.PreToolUse));
    const client = await server.client();
    const connection = await engine.connect(client);
    assert.deepEqual(server.problems, [
      { kind: "unhandled", hook: "later", message: "the hook `later` has no handler, and so no effect" },
    ]);
    assert.deepEqual(await client.hooks(), []);
    engine.register_handler("later", {
      handle: () => {
        engine.unregister_handler("later");
        return HookResponse.block("once");
      },
    });
    await connection.settled();
    assert.deepEqual(
      (await client.hooks()).map(({ name }) => name),
      ["later"],
    );
    const { results } = await prompted(client);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["blocked", "done"],
    );
  });
});

test("a hook that is registered anew takes the place of the one before", limit, async () => {
  await serving({ turns: [bash("echo one"), bash("echo two"), { say: "done" }], args: FREE }, async (server) => {
    const engine = new HookEngine();
    const hook = Hook.new("gate", HookEventType.PreToolUse);
    engine.register(hook.with_matcher(HookMatcher.command("one")));
    engine.register_handler("gate", { handle: () => HookResponse.block("no") });
    const client = await server.client();
    const connection = await engine.connect(client);
    engine.register(hook.with_matcher(HookMatcher.command("two")).with_config({ priority: 3 }));
    await connection.settled();
    const { results } = await prompted(client);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["done", "blocked"],
    );
    assert.deepEqual(
      (await client.hooks()).map(({ name, priority }) => [name, priority]),
      [["gate", 3]],
    );
    await connection.disconnect();
    assert.deepEqual([await client.hooks(), engine.hook_count()], [[], 1]);
  });
});

test("a pattern that the server does not take is an error of the connection", limit, async () => {
  await serving([{ say: "x" }], async (server) => {
    const engine = new HookEngine();
    engine.register({ id: "fine", event_type: "pre_tool_use" });
    engine.register({ id: "wrong", event_type: "pre_tool_use", matcher: { command_pattern: "(" } });
    for (const id of ["fine", "wrong"]) engine.register_handler(id, { handle: () => HookResponse.skip() });
    const client = await server.client();
    await assert.rejects(engine.connect(client), /invalid regex `\(` in `command`/);
    assert.deepEqual(await client.hooks(), []);
  });
});

test("skip lets the hooks behind it rest, but no guard", limit, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const engine = new HookEngine();
    engine.register({ id: "first", event_type: "pre_tool_use", config: { priority: 1 } });
    engine.register_handler("first", { handle: () => HookResponse.skip() });
    engine.register({ id: "second", event_type: "pre_tool_use" });
    engine.register_handler("second", { handle: () => HookResponse.block("never asked") });
    const client = await server.client();
    await engine.connect(client);
    const { results, events } = await prompted(client);
    assert.equal(results[0]?.status, "done");
    const traces = events.flatMap((event) => (event.event === "hooks" ? event.record.hooks : []));
    const second = traces.find(({ hook }) => hook === "second");
    assert.deepEqual(second?.ran, { ran: "skipped", why: { because: "ended", by: "first", verdict: "skip" } });
  });
});

test("what is tried here comes out as on the server", limit, async () => {
  await serving([{ say: "x" }], async (server) => {
    const engine = new HookEngine();
    engine.register({ id: "limit", event_type: "pre_tool_use", matcher: { tool: "Bash" }, config: { priority: 5 } });
    engine.register_handler("limit", {
      handle: ({ payload }) => HookResponse.continue_with({ ...payload.args, timeout: 7 }),
    });
    engine.register({ id: "git", event_type: "pre_tool_use", matcher: { command_pattern: "^git\\s+push" } });
    engine.register_handler("git", { handle: () => HookResponse.block("no pushing") });
    engine.register({ id: "rust", event_type: "pre_tool_use", matcher: { path_pattern: "src/**/*.rs" } });
    engine.register_handler("rust", { handle: () => HookResponse.block("no rust") });
    const client = await server.client();
    await engine.connect(client);
    const calls = [
      { tool: "Bash", args: { command: "ls" } },
      { tool: "Bash", args: { command: "git  push" } },
      { tool: "Edit", args: { path: "src/a/b.rs" } },
      { tool: "Edit", args: { path: "tests/b.rs" } },
    ];
    for (const call of calls) {
      const here = await engine.fire({
        event_type: "pre_tool_use",
        payload: { session_id: "s", working_directory: server.folder, recent_tools: [], ...call },
      });
      const own = { Bash: "bash", Edit: "edit_file" }[call.tool] ?? "";
      const there = await client.fire({ point: "BeforeToolUse", ...call, tool: own, working_directory: server.folder });
      const decision = here.action === "Block" ? "deny" : null;
      assert.deepEqual(
        [there.judgement.decision, there.record.decided_by ?? null],
        [decision, here.decided_by],
        JSON.stringify(call),
      );
      assert.deepEqual(
        there.record.hooks.map(({ hook }) => hook),
        here.hooks.map(({ hook }) => hook),
      );
    }
  });
});
