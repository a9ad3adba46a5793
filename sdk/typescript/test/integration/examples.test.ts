// What people write with an engine, each against a real server, over TCP and over a Unix socket.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Hook, HookEngine, HookEventType, HookMatcher } from "../../src/index.js";
import { FREE, folderIn, later, prompted } from "./kit.js";
import { overBoth, serving } from "./server.js";

overBoth("a recursive deletion is blocked, however it is wrapped", async (transport) => {
  const turns = [
    { call: { tool: "bash", args: { command: "rm -rf kept" } } },
    { call: { tool: "bash", args: { command: "cd . && sh -c 'rm  -rf kept'" } }, expect: "deletion is not allowed" },
    { call: { tool: "bash", args: { command: "echo fine" } } },
    { say: "done" },
  ];
  await serving({ turns, args: FREE }, async (server) => {
    const kept = folderIn(server, "kept");
    const engine = new HookEngine();
    engine.register(
      Hook.new("block-rm-rf", HookEventType.PreToolUse)
        .with_matcher(HookMatcher.command("rm\\s+-rf"))
        .with_config({ priority: 1 }),
    );
    engine.register_handler("block-rm-rf", {
      handle: () => ({ action: "Block", reason: "deletion is not allowed" }),
    });
    const client = await server.client(transport);
    await engine.connect(client);

    const { report, results } = await prompted(client);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["blocked", "blocked", "done"],
    );
    assert.match(results[0]?.output ?? "", /deletion is not allowed/);
    assert.equal(report.status, "completed");
    assert.ok(existsSync(kept));
  });
});

overBoth("files are written in one folder and nowhere else", async (transport) => {
  const write = (path: string): object => ({ call: { tool: "write_file", args: { path, content: "x" } } });
  const turns = [write("out.txt"), write("in/../out.txt"), write("in/a.txt"), { say: "done" }];
  await serving({ turns, args: FREE }, async (server) => {
    const inside = folderIn(server, "in");
    const engine = new HookEngine();
    engine.register(Hook.new("restrict-writes", HookEventType.PreToolUse).with_matcher(HookMatcher.tool("Write")));
    engine.register_handler("restrict-writes", {
      handle: (event) => {
        const path = event.payload.args.file_path;
        if (!path.startsWith(`${inside}/`)) {
          return { action: "Block", reason: `no writing to ${path}: it is not in the folder` };
        }
        return { action: "Continue" };
      },
    });
    const client = await server.client(transport);
    await client.use(engine);

    const { results } = await prompted(client);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["blocked", "blocked", "done"],
    );
    assert.match(results[1]?.output ?? "", new RegExp(`no writing to ${server.folder}/out.txt`));
    assert.deepEqual(
      ["out.txt", "in/a.txt"].map((name) => existsSync(join(server.folder, name))),
      [false, true],
    );
  });
});

overBoth("every command has a time limit, and keeps the one it has", async (transport) => {
  const turns = [
    { call: { tool: "bash", args: { command: "echo one" } } },
    { call: { tool: "bash", args: { command: "echo two", timeout_ms: 5000 } } },
    { say: "done" },
  ];
  await serving({ turns, args: FREE }, async (server) => {
    const engine = new HookEngine();
    engine.register(Hook.new("add-timeout", HookEventType.PreToolUse).with_matcher(HookMatcher.tool("Bash")));
    engine.register_handler("add-timeout", {
      handle: (event) => {
        const args = event.payload.args;
        return { action: "Continue", modified: { ...args, timeout: args.timeout || 30000 } };
      },
    });
    const client = await server.client(transport);
    await engine.connect(client);

    const { events, results } = await prompted(client);
    const begun = events.flatMap((event) => (event.event === "tool_began" ? [event.call.args] : []));
    assert.deepEqual(begun, [
      { command: "echo one", timeout_ms: 30000 },
      { command: "echo two", timeout_ms: 5000 },
    ]);
    assert.deepEqual(
      results.map(({ success }) => success),
      [true, true],
    );
  });
});

overBoth("every tool call is in the audit trail, and nobody waits for it", async (transport) => {
  const turns = [
    { call: { tool: "bash", args: { command: "exit 3" } } },
    { call: { tool: "read_file", args: { path: "nothing.txt" } } },
    { say: "done" },
  ];
  await serving({ turns, args: FREE }, async (server) => {
    const trail: unknown[] = [];
    const all = later<void>();
    const engine = new HookEngine();
    engine.register(
      Hook.new("audit-log", HookEventType.PostToolUse).with_config({ async_execution: true, priority: 1000 }),
    );
    engine.register_handler("audit-log", {
      handle: async (event) => {
        const { tool, args, result, session_id } = event.payload;
        trail.push({ session: session_id, tool, args, success: result.success, code: result.exit_code });
        assert.equal(typeof result.duration_ms, "number");
        if (trail.length === 2) all.resolve();
        return { action: "Continue" };
      },
    });
    const client = await server.client(transport);
    await engine.connect(client);

    const { session } = await prompted(client);
    await all.promise;
    const file_path = join(server.folder, "nothing.txt");
    assert.deepEqual(JSON.parse(JSON.stringify(trail)), [
      { session, tool: "Bash", args: { command: "exit 3" }, success: false, code: 3 },
      { session, tool: "Read", args: { file_path }, success: false },
    ]);
    const [hook] = await client.hooks();
    assert.deepEqual(
      [hook?.name, hook?.point, hook?.role, hook?.priority],
      ["audit-log", "AfterToolUse", "watch", 1000],
    );
  });
});

overBoth("tokens are counted by session, and the budget is kept", async (transport) => {
  const usage = { input_tokens: 40, output_tokens: 20 };
  const turns = [
    { call: { tool: "bash", args: { command: "echo one" } }, usage },
    { call: { tool: "bash", args: { command: "echo two" } }, usage },
    { say: "never said", usage },
  ];
  await serving({ turns, args: FREE }, async (server) => {
    const spent = new Map<string, number>();
    const engine = new HookEngine();
    engine.register(Hook.new("token-budget", HookEventType.GenerateEnd));
    engine.register_handler("token-budget", {
      handle: (event) => {
        const { session_id, usage } = event.payload;
        const updated = (spent.get(session_id) || 0) + usage.total_tokens;
        spent.set(session_id, updated);
        if (updated > 100) return { action: "Block", reason: `${updated} tokens are enough` };
        return { action: "Continue" };
      },
    });
    const client = await server.client(transport);
    await engine.connect(client);

    const { session, report } = await prompted(client);
    assert.deepEqual([...spent], [[session, 120]]);
    assert.deepEqual(
      [report.status, report.stop.message, report.stop.source],
      ["stopped", "120 tokens are enough", "token-budget"],
    );
  });
});

overBoth("a model that is limited is asked again later", async (transport) => {
  await serving([{ say: "here I am" }], async (server) => {
    let limited = 2;
    const asked: string[] = [];
    const engine = new HookEngine();
    engine.register(Hook.new("rate-limit-retry", HookEventType.GenerateStart));
    engine.register_handler("rate-limit-retry", {
      handle: (event) => {
        asked.push(`${event.payload.model_provider} ${event.payload.prompt}`);
        limited -= 1;
        if (limited >= 0) return { action: "Retry", retry_delay_ms: 20 };
        return { action: "Continue" };
      },
    });
    const client = await server.client(transport);
    await engine.connect(client);

    const { report } = await prompted(client, "are you there?");
    assert.equal(report.text, "here I am");
    assert.deepEqual(asked, Array(3).fill("script are you there?"));
  });
});
