import assert from "node:assert/strict";
import { test } from "node:test";
import { allow, deny, goOn, halt, type Match, replace, stop, type VertebraError } from "../../src/index.js";
import { FREE, later, prompted, type Ran } from "./kit.js";
import { overBoth, serving } from "./server.js";

const bash = (command: string) => ({ call: { tool: "bash", args: { command } } });

overBoth("a guard refuses, and the model reads why", async (transport) => {
  const turns = [bash("echo one"), { ...bash("echo two"), expect: "not this one" }, { say: "done" }];
  await serving({ turns, args: FREE }, async (server) => {
    const client = await server.client(transport);
    const guard = await client.guard(
      "BeforeToolUse",
      { tool: "bash", command: "one$" },
      async (event) => deny(`not this one: ${event.args.command}`),
      { name: "no-one" },
    );
    assert.equal(guard.name, "no-one");
    const { results, events } = await prompted(client);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["blocked", "done"],
    );
    const decided = events.flatMap((event) => (event.event === "hooks" ? [event.record.decided_by] : []));
    assert.ok(decided.includes("no-one"));
    assert.deepEqual(server.problems, []);
  });
});

test("hooks run by priority and by before and after, and each sees what the one before left", {
  timeout: 30_000,
}, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const client = await server.client();
    const add = (word: string) => (event: { readonly args: { command?: string } }) => ({
      patch: { command: `${event.args.command} ${word}` },
    });
    await client.on("BeforeToolUse", add("late"), { name: "late", priority: 100 });
    await client.on("BeforeToolUse", add("early"), { name: "early", priority: 1 });
    await client.on("BeforeToolUse", add("between"), {
      name: "between",
      priority: 500,
      before: ["late"],
      after: ["early"],
    });
    const { results } = await prompted(client);
    assert.match(results[0]?.output ?? "", /early between late/);
    const named = (await client.hooks()).map(({ name }) => name);
    assert.deepEqual(named.toSorted(), ["between", "early", "late"]);
  });
});

test("a hook answers in place of a tool, of the model, and for the run", { timeout: 30_000 }, async () => {
  const turns = [bash("echo real"), { expect: "cached", say: "half" }, { expect: "and the rest", say: "whole" }];
  await serving({ turns, args: FREE }, async (server) => {
    const client = await server.client();
    await client.on("BeforeToolUse", () => replace("cached"));
    await client.on("ShouldContinue", ({ continuations }) => (continuations === 0 ? goOn("and the rest") : undefined));
    const { report, results } = await prompted(client);
    assert.equal(results[0]?.output, "cached");
    assert.equal(report.text, "whole");
    await client.on("BeforeInference", () => replace("not by the model"));
    assert.equal((await prompted(client)).report.text, "not by the model");
  });
});

test("a prompt is rewritten, and the model is told something besides", { timeout: 30_000 }, async () => {
  await serving(
    [
      { expect: "rewritten", say: "a" },
      { expect: "besides", say: "b" },
    ],
    async (server) => {
      const client = await server.client();
      await client.on("PromptSubmit", () => ({ modified: { prompt: "rewritten" }, context: "besides" }));
      const session = await client.sessions.create();
      assert.equal(await session.prompt("first").text(), "a");
      assert.equal(await session.prompt("second").text(), "b");
    },
  );
});

test("a handler that throws is a no where something can be refused, and is reported", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const client = await server.client();
    await client.on(
      "BeforeToolUse",
      () => {
        throw new Error("oh no");
      },
      { name: "broken" },
    );
    await client.on("AfterToolUse", () => deny("too late") as never, { name: "mistaken" });
    const { results } = await prompted(client);
    assert.equal(results[0]?.status, "blocked");
    assert.match(results[0]?.output ?? "", /broken.*oh no/);
    assert.deepEqual(
      server.problems.map(({ kind, hook, message }) => `${kind} ${hook}: ${message}`),
      [
        "failed broken: the hook `broken` failed at BeforeToolUse: oh no",
        "failed mistaken: the hook `mistaken` failed at AfterToolUse: AfterToolUse cannot honour `deny`: it takes proceed, skip, retry, stop",
      ],
    );
  });
});

test("a handler that takes too long is a no, and is told that nobody waits", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const client = await server.client();
    const aborted = later<void>();
    await client.guard(
      "BeforeToolUse",
      (_, { signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        return new Promise(() => undefined);
      },
      { timeout: 100 },
    );
    const { results } = await prompted(client);
    assert.equal(results[0]?.status, "blocked");
    await aborted.promise;
  });
});

test("a hook may fail open, and one in the shadow decides nothing", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const client = await server.client();
    const broken = (): never => {
      throw new Error("oh no");
    };
    await client.on("BeforeToolUse", broken, { name: "open", onFailure: "open" });
    await client.guard("BeforeToolUse", () => deny("only as a trial"), { name: "shadow", shadow: true });
    const { results, events } = await prompted(client);
    assert.equal(results[0]?.status, "done");
    const traces = events.flatMap((event) => (event.event === "hooks" ? event.record.hooks : []));
    const shadow = traces.find(({ hook }) => hook === "shadow");
    assert.deepEqual(shadow?.ran, { ran: "answered", verdict: "deny", reason: "only as a trial" });
  });
});

test("a watch sees what others blocked, and nobody waits for a detached one", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const client = await server.client();
    const seen = later<string>();
    const release = later<void>();
    await client.guard("BeforeToolUse", () => deny("no"), { name: "no" });
    await client.watch(
      "AfterToolUse",
      async ({ blocked_by }) => {
        await release.promise;
        seen.resolve(String(blocked_by));
      },
      { detached: true },
    );
    const { report } = await prompted(client);
    assert.equal(report.status, "completed");
    release.resolve();
    assert.equal(await seen.promise, "no");
  });
});

test("a hook that was taken back has no effect any more", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const client = await server.client();
    const guard = await client.guard("BeforeToolUse", async () => {
      void guard.unregister();
      return deny("once");
    });
    const { results } = await prompted(client);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["blocked", "done"],
    );
    assert.deepEqual(await client.hooks(), []);
  });
});

test("a hook governs the session that it names", { timeout: 30_000 }, async () => {
  await serving([{ say: "one" }, { say: "two" }], async (server) => {
    const client = await server.client();
    const [one, other] = [await client.sessions.create(), await client.sessions.create()];
    await client.on("PromptSubmit", () => deny("not here"), { scope: { session: one.id } });
    assert.notEqual(await one.prompt("a").text(), "one");
    assert.equal(await other.prompt("a").text(), "one");
    const nowhere = client.on("PromptSubmit", () => deny("x"), { scope: { session: "nowhere" } });
    await assert.rejects(nowhere, /there is no open session `nowhere`/);
  });
});

test("a session is denied, and the caller reads why", { timeout: 30_000 }, async () => {
  await serving([{ say: "not reached" }], async (server) => {
    const client = await server.client();
    await client.guard("SessionStart", () => deny("come back on Monday"), { name: "office-hours" });
    await assert.rejects(client.sessions.create(), (error: VertebraError) => {
      assert.equal(error.code, "permission_denied");
      assert.equal(error.message, "the session was denied by office-hours: come back on Monday");
      return true;
    });
    assert.deepEqual((await client.sessions.list()).sessions, []);
  });
});

const pieces = (ran: Ran) => ran.events.flatMap((event) => (event.event === "delta" ? [event.text] : []));

test("what leaves a run is changed, in the stream too", { timeout: 30_000 }, async () => {
  await serving({ turns: [{ stream: ["the code ", "is SECRET"] }], args: FREE }, async (server) => {
    const client = await server.client();
    await client.on("Output", ({ text }) => ({ modified: { text: text.replace("SECRET", "***") } }));
    const changed = await prompted(client);
    assert.deepEqual([pieces(changed), changed.report.text], [["the code is ***"], "the code is ***"]);
  });
});

test("what leaves a run is denied, in the stream too", { timeout: 30_000 }, async () => {
  await serving({ turns: [{ stream: ["my ", "PASSWORD"] }], args: FREE }, async (server) => {
    const client = await server.client();
    const refuse = () => deny("it names a password");
    await client.guard("Output", ({ text }) => (/PASSWORD/.test(text) ? refuse() : undefined), {
      name: "no-passwords",
    });
    const denied = await prompted(client);
    assert.deepEqual([pieces(denied), denied.report.text, denied.report.status], [[], "", "stopped"]);
    assert.equal(denied.report.stop.message, "the output was denied: it names a password");
  });
});

test("the last piece says how the answer ended", { timeout: 30_000 }, async () => {
  const turns = [bash("echo"), { say: "not reached" }];
  await serving({ turns, args: FREE }, async (server) => {
    const client = await server.client();
    await client.on("InferenceDelta", ({ end }) =>
      end?.how === "finished" && end.calls?.[0]?.tool === "bash" ? halt("no tools today") : undefined,
    );
    const { report, results } = await prompted(client);
    assert.deepEqual([report.stop.message, results], ["no tools today", []]);
  });
});

test("what is wrong with a hook is said when it is registered", { timeout: 30_000 }, async () => {
  await serving([{ say: "x" }], async (server) => {
    const client = await server.client();
    await assert.rejects(
      client.on("BeforeToolUse", { command: "(" }, () => deny("x")),
      /invalid regex `\(` in `command`: unclosed group/,
    );
    await assert.rejects(
      client.on("BeforeToolUze" as never, () => undefined),
      /unknown point `BeforeToolUze`/,
    );
    await assert.rejects(
      client.guard("SessionEnd" as never, (() => undefined) as never),
      /a guard is not possible at SessionEnd/,
    );
    const slips: [object, object, RegExp][] = [
      [{ tol: "bash" }, {}, /a matcher has no `tol`: it has tool, /],
      [{ not: { tols: "bash" } }, {}, /a matcher has no `tols`/],
      [{ args: { "/a": { equal: 1 } } }, {}, /a test is one of `exists`, `equals` and `matches`/],
      [{}, { prio: 1 }, /a hook has no option `prio`: there are name, /],
    ];
    for (const [match, options, message] of slips) {
      await assert.rejects(
        client.on("BeforeToolUse", match as Match, () => deny("x"), options),
        message,
      );
    }
    await client.on("BeforeToolUse", () => deny("x"), { name: "same" });
    await assert.rejects(
      client.on("AfterStep", () => stop("x"), { name: "same" }),
      { code: "already_exists" },
    );
  });
});

overBoth("an event can be tried without anything happening", async (transport) => {
  await serving([{ say: "x" }], async (server) => {
    const client = await server.client(transport);
    await client.on(
      "BeforeToolUse",
      { tool: "bash" },
      ({ args }) => {
        return args.command === "ls" ? { ...allow(), patch: { timeout_ms: 5 } } : deny("only ls");
      },
      { name: "only-ls" },
    );
    const denied = await client.fire({ point: "PreToolUse", tool: "bash", args: { command: "pwd" } });
    assert.deepEqual(
      [denied.judgement.decision, denied.judgement.reason, denied.record.decided_by],
      ["deny", "only ls", "only-ls"],
    );
    const allowed = await client.fire({ point: "BeforeToolUse", tool: "bash", args: { command: "ls" } });
    assert.deepEqual(
      [allowed.judgement.decision, allowed.judgement.tool_input],
      ["allow", { command: "ls", timeout_ms: 5 }],
    );
    await assert.rejects(client.fire({ point: "BeforeToolUse", arg: 1 } as never), {
      code: "invalid_argument",
      message: /it has no field `arg`; did you mean `args`/,
    });
  });
});

overBoth("a command that is too complex to judge is denied", async (transport) => {
  const line = Array.from({ length: 1200 }, (_, number) => `echo {a,b} ${number}`).join("; ");
  const turns = [bash(line), { expect: "too complex to judge", say: "done" }];
  await serving({ turns, args: FREE }, async (server) => {
    const client = await server.client(transport);
    await client.guard("BeforeToolUse", { tool: "bash", command: "^frobnicate" }, () => deny("x"), { name: "no" });
    const { judgement } = await client.fire({ point: "BeforeToolUse", tool: "bash", args: { command: line } });
    assert.equal(judgement.decision, "deny");
    assert.match(judgement.reason ?? "", /too complex to judge/);
    const { results } = await prompted(client);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["blocked"],
    );
  });
});
