// What holds when the connection does not.

import assert from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";
import {
  type Approval,
  type ApprovalEvent,
  type Client,
  type ConnectOptions,
  connect,
  deny,
  type Problem,
  type SessionEvent,
} from "../../src/index.js";
import { FREE, later, prompted } from "./kit.js";
import { type Cuttable, cuttable } from "./proxy.js";
import { type Server, type Start, serving, type Turn } from "./server.js";

const bash = (command: string) => ({ call: { tool: "bash", args: { command } } });

/** A client behind a wire that can be cut. */
async function overWire(
  start: Start | readonly Turn[],
  use: (client: Client, wire: Cuttable, problems: Problem[], server: Server) => Promise<void>,
  options: ConnectOptions = {},
): Promise<void> {
  await serving(start, async (server) => {
    const wire = await cuttable(server.address("tcp"));
    const problems: Problem[] = [];
    const client = await connect(wire.address, {
      token: server.token,
      onProblem: (problem) => problems.push(problem),
      ...options,
    });
    try {
      await use(client, wire, problems, server);
    } finally {
      await client.close({ leaveHooks: true });
      await wire.close();
    }
  });
}

test("a hook that is at work when the connection is lost answers over the next one, once", {
  timeout: 30_000,
}, async () => {
  await overWire({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (client, wire, problems) => {
    let asked = 0;
    await client.guard("BeforeToolUse", async () => {
      asked += 1;
      wire.cut();
      await new Promise((resolve) => setTimeout(resolve, 400));
      return deny("as I said");
    });
    const { results, report } = await prompted(client);
    assert.deepEqual([asked, results[0]?.status, report.status], [1, "blocked", "completed"]);
    assert.match(results[0]?.output ?? "", /as I said/);
    assert.equal(problems[0]?.kind, "lost");
  });
});

test("an answer that was lost on its way is given again, and its hook is not asked again", {
  timeout: 30_000,
}, async () => {
  await overWire({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (client, wire) => {
    let asked = 0;
    await client.guard("BeforeToolUse", () => {
      asked += 1;
      // The answer is written to a wire that is already gone.
      wire.cut();
      return deny("as I said");
    });
    const { results } = await prompted(client);
    assert.deepEqual([asked, results[0]?.status], [1, "blocked"]);
    assert.match(results[0]?.output ?? "", /as I said/);
  });
});

test("a run goes on while its client is away, and all of it is told afterwards", { timeout: 30_000 }, async () => {
  const turns = [{ stream: ["a", "b", "c", "d", "e", "f"], pause_ms: 60 }];
  await overWire(turns, async (client, wire) => {
    const session = await client.sessions.create();
    const run = session.prompt("go");
    const events: SessionEvent[] = [];
    for await (const event of run) {
      if (event.event === "delta" && event.text === "b") {
        wire.block();
        setTimeout(() => wire.unblock(), 150);
      }
      events.push(event);
    }
    assert.equal(await run.text(), "abcdef");
    const said = events.flatMap((event) => (event.event === "delta" ? [event.text] : []));
    assert.equal(said.join(""), "abcdef");
    assert.deepEqual(
      events.map(({ number }) => number),
      events.map((_, place) => place + 1),
    );
  });
});

test("what happens in a session and what its journal says is followed over a loss", { timeout: 30_000 }, async () => {
  await overWire([{ say: "one" }, { say: "two" }], async (client, wire, _, server) => {
    const other = await server.client();
    const session = await other.sessions.create();
    await session.prompt("a").result;
    const events = (await client.sessions.get(session.id)).events();
    const records = client.records(session.id, { follow: true });
    const [numbers, lines]: [number[], number[]] = [[], []];
    for (let runs = 0; runs < 2; ) {
      const { value: event } = await events.next();
      const { value: line } = await records.next();
      assert.ok(event && line, "both go on");
      numbers.push(event.number);
      lines.push(line.number);
      if (event.event !== "ended") continue;
      runs += 1;
      wire.cut();
      if (runs === 1) await session.prompt("b").result;
    }
    for (const told of [numbers, lines])
      assert.deepEqual(
        told,
        told.map((_, place) => place + 1),
      );
  });
});

test("hooks are in force again after the connection was lost", { timeout: 30_000 }, async () => {
  await overWire({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (client, wire, problems) => {
    await client.guard("BeforeToolUse", () => deny("still here"), { name: "still" });
    const back = later<void>();
    wire.cut();
    const again = setInterval(() => {
      client.hooks().then(
        (hooks) => hooks.length > 0 && back.resolve(),
        () => undefined,
      );
    }, 50);
    await back.promise;
    clearInterval(again);
    const { results } = await prompted(client);
    assert.match(results[0]?.output ?? "", /still here/);
    assert.deepEqual(
      problems.map(({ kind }) => kind),
      ["lost"],
    );
  });
});

test("who comes back under the same name takes over the events that wait", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const viewer = await server.client("unix");
    const asked = later<void>();
    const first = await server.client("tcp", { clientId: "policy" });
    await first.guard(
      "BeforeToolUse",
      () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
      { name: "gate", scope: "everything" },
    );
    const ran = prompted(viewer);
    await asked.promise;
    await first.close({ leaveHooks: true });
    const second = await server.client("tcp", { clientId: "policy" });
    await second.guard("BeforeToolUse", () => deny("by the second"), { name: "gate", scope: "everything" });
    const { results } = await ran;
    assert.match(results[0]?.output ?? "", /by the second/);
  });
});

test("what a lost client guards is refused", { timeout: 60_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const viewer = await server.client("unix");
    const policy = await server.client("tcp");
    await policy.guard("BeforeToolUse", () => undefined, { name: "gate", scope: "everything", timeout: 1000 });
    await policy.close({ leaveHooks: true });
    const { results } = await prompted(viewer);
    assert.equal(results[0]?.status, "blocked");
  });
});

test("a client that takes its leave governs nothing any more", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const viewer = await server.client("unix");
    const policy = await server.client("tcp");
    await policy.guard("BeforeToolUse", () => deny("no"), { scope: "everything" });
    await policy.close();
    const { results } = await prompted(viewer);
    assert.equal(results[0]?.status, "done");
  });
});

test("a connection that is dead without a word is noticed, and taken up again", { timeout: 30_000 }, async () => {
  const start = { turns: [bash("echo"), { say: "done" }], args: FREE };
  const quickly = { keepaliveMs: 300, keepaliveTimeoutMs: 700 };
  await overWire(
    start,
    async (client, wire, problems) => {
      let asked = 0;
      await client.guard("BeforeToolUse", () => {
        asked += 1;
        wire.stall();
        return deny("over another wire");
      });
      const { results } = await prompted(client);
      assert.match(results[0]?.output ?? "", /over another wire/);
      assert.deepEqual([asked, problems[0]?.kind], [1, "lost"]);
    },
    quickly,
  );
});

test("a server that is started again has the hooks again", { timeout: 30_000 }, async () => {
  const turns = [bash("echo"), { say: "done" }];
  await serving({ turns, args: FREE }, async (first) => {
    const port = Number(new URL(first.address("tcp").replace("tcp:", "http:")).port);
    const client = await first.client();
    await client.guard("BeforeToolUse", () => deny("still here"), { name: "gate" });
    await first.stop("SIGTERM");
    await serving({ turns, args: FREE, port }, async () => {
      for (let hooks = 0; hooks === 0; )
        hooks = await client.hooks().then(
          ({ length }) => length,
          () => 0,
        );
      const { results } = await prompted(client);
      assert.match(results[0]?.output ?? "", /still here/);
      assert.equal(
        first.problems.some(({ kind }) => kind === "lost"),
        true,
      );
    });
  });
});

test("a client whose token is taken from it says that it governs nothing any more", { timeout: 30_000 }, async () => {
  await serving([{ say: "x" }], async (first) => {
    const port = Number(new URL(first.address("tcp").replace("tcp:", "http:")).port);
    const client = await first.client();
    await client.guard("BeforeToolUse", () => deny("still here"));
    await first.stop("SIGTERM");
    await serving({ turns: [{ say: "x" }], port, token: "another-token-for-all" }, async () => {
      while (!first.problems.some(({ kind }) => kind === "left")) await new Promise((next) => setTimeout(next, 20));
      const left = first.problems.find(({ kind }) => kind === "left");
      assert.match(left?.message ?? "", /none of its hooks is in force: this token opens nothing here/);
      await assert.rejects(
        client.on("AfterStep", () => undefined),
        { code: "canceled" },
      );
    });
  });
});

test("a client whose name another takes says so, and does not take it back", { timeout: 30_000 }, async () => {
  await serving({ turns: [bash("echo"), { say: "done" }], args: FREE }, async (server) => {
    const first = await server.client("unix", { clientId: "policy" });
    await first.guard("BeforeToolUse", () => deny("by the first"), { name: "gate" });
    const second = await server.client("unix", { clientId: "policy" });
    await second.guard("BeforeToolUse", () => deny("by the second"), { name: "gate" });
    const { results } = await prompted(second);
    assert.match(results[0]?.output ?? "", /by the second/);
    const left = server.problems.find(({ kind }) => kind === "left");
    assert.match(left?.message ?? "", /another client came under this name/);
  });
});

type Questions = AsyncGenerator<ApprovalEvent, void, undefined>;

/** What is told next. */
async function next(news: Questions): Promise<ApprovalEvent> {
  const { value } = await news.next();
  assert.ok(value, "it goes on");
  return value;
}

/** Begins a run that asks whether it may, and waits until somebody hears of it. */
async function question(client: Client, news: Questions): Promise<Approval> {
  const session = await client.sessions.create();
  session.prompt("go");
  for (;;) {
    const told = await next(news);
    assert.ok(told.event === "asked" && told.approval.sessionId === session.id);
    // It is in the journal before it is put, and whoever looks in between is told of both.
    if (!told.approval.suspended) return told.approval;
  }
}

const settled = ({ sessionId, callId }: Approval, decision: string) => ({
  event: "settled",
  sessionId,
  callId,
  decision,
});

test("questions are heard of after a loss: those that are new, and nothing twice", { timeout: 30_000 }, async () => {
  await overWire([bash("touch made"), { say: "done" }], async (client, wire, _, server) => {
    const other = await server.client();
    const [here, there] = [client.approvals.watch(), other.approvals.watch()];
    const [first, second] = [await question(other, there), await question(other, there)];
    assert.deepEqual(
      [await next(here), await next(here)],
      [
        { event: "asked", approval: first },
        { event: "asked", approval: second },
      ],
    );
    const following = next(here);
    wire.block();
    // It does not give up.
    while (wire.turnedAway < 4) await new Promise((look) => setTimeout(look, 20));
    await other.approvals.answer(first, { deny: "meanwhile" });
    assert.deepEqual(await next(there), settled(first, "deny"));
    const third = await question(other, there);
    wire.unblock();
    assert.deepEqual(await following, settled(first, "gone"));
    assert.deepEqual(await next(here), { event: "asked", approval: third });
    // The second waits all the time, and was told.
    await other.approvals.answer(second, { deny: "now" });
    assert.deepEqual(await next(here), settled(second, "deny"));
  });
});

test("questions are heard of after the server was started again", { timeout: 30_000 }, async () => {
  const turns = [bash("touch made"), { say: "done" }];
  await serving({ turns }, async (first) => {
    const port = Number(new URL(first.address("tcp").replace("tcp:", "http:")).port);
    const client = await first.client();
    const news = client.approvals.watch();
    const asked = await question(client, news);
    await first.stop("SIGTERM");
    await serving({ turns, port, home: dirname(first.folder) }, async () => {
      let told = await next(news);
      if (told.event === "settled") {
        // The server had the time to say so, or to be asked once more.
        assert.deepEqual(told, settled(asked, told.decision === "gone" ? "gone" : "later"));
        told = await next(news);
      }
      assert.deepEqual(told, { event: "asked", approval: { ...asked, suspended: true } });
    });
  });
});

test("a client that is closed hears of no more questions", { timeout: 30_000 }, async () => {
  await serving([], async (server) => {
    const client = await server.client();
    const following = client.approvals.watch().next();
    await client.approvals.list();
    await client.close();
    await assert.rejects(following, { code: "canceled" });
  });
});
