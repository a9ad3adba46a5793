import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, deny, RunFailed, type SessionEvent } from "../../src/index.js";
import { FREE, prompted } from "./kit.js";
import { overBoth, serving } from "./server.js";

/** Says one word, and does not come to the next. */
const SLOW = { stream: ["one", "two"], pause_ms: 60_000 };

overBoth("a prompt is run, and all that happens is told", async (transport) => {
  await serving([{ stream: ["Hello ", "you."] }], async (server) => {
    const client = await server.client(transport);
    const session = await client.sessions.create({ labels: { of: "a test" } });
    const run = session.prompt("hello");
    const events: SessionEvent[] = [];
    for await (const event of run) events.push(event);
    assert.equal(await run.text(), "Hello you.");
    assert.equal((await run.result).session_id, session.id);
    const said = events.flatMap((event) => (event.event === "delta" && event.channel === "text" ? [event.text] : []));
    assert.equal(said.join(""), "Hello you.");
    assert.equal(events.at(-1)?.event, "ended");
    assert.deepEqual(
      events.map(({ number }) => number),
      events.map((_, place) => place + 1),
    );
  });
});

test("a server that is not there, or a token that is none, is an error at once", { timeout: 30_000 }, async () => {
  await assert.rejects(connect("http://127.0.0.1:1"), { name: "VertebraError", code: "unavailable" });
  await assert.rejects(connect("unix:///nowhere/v.sock"), { code: "unavailable" });
  await serving([{ say: "x" }], async (server) => {
    await assert.rejects(connect(server.address("tcp")), { code: "unauthenticated" });
    await assert.rejects(connect(server.address("tcp"), { token: "another" }), { code: "unauthenticated" });
  });
});

overBoth("a session is found, told again from anywhere, and closed", async (transport) => {
  await serving([{ say: "one", usage: { input_tokens: 7 } }, { say: "two" }], async (server) => {
    const client = await server.client(transport);
    const session = await client.sessions.create({ labels: { of: "a test" } });
    await session.prompt("first").result;
    const { lastEvent, status } = await session.refresh();
    assert.equal(status, "idle");

    const { sessions, more } = await client.sessions.list({ labels: { of: "a test" } });
    assert.deepEqual([sessions.map(({ id }) => id), more], [[session.id], false]);
    assert.deepEqual((await client.sessions.list({ labels: { of: "another" } })).sessions, []);

    const found = await client.sessions.get(session.id);
    const told: SessionEvent[] = [];
    const reading = (async () => {
      for await (const event of found.events({ after: lastEvent - 1 })) told.push(event);
    })();
    await session.prompt("second").result;
    const report = await session.close();
    await reading;
    assert.deepEqual([report.runs, report.usage.input_tokens], [2, 7]);
    assert.deepEqual([told[0]?.event, told[0]?.number], ["ended", lastEvent]);
    assert.deepEqual(
      told.flatMap((event) => (event.event === "ended" ? [event.report.text] : [])),
      ["one", "two"],
    );
    await assert.rejects(client.sessions.get(session.id), { code: "not_found" });
    await assert.rejects(session.prompt("third").result, { code: "not_found" });
  });
});

test("a run is cancelled, and its session goes on", { timeout: 30_000 }, async () => {
  await serving([SLOW, { say: "still here" }], async (server) => {
    const client = await server.client();
    const session = await client.sessions.create();
    const run = session.prompt("wait");
    for await (const event of run) if (event.event === "delta") break;
    assert.equal(await session.cancel(), true);
    assert.equal((await run.result).status, "cancelled");
    assert.equal(await session.prompt("again").text(), "still here");
    assert.equal(await session.cancel(), false);
  });
});

test("a run that fails says so to whoever wants its text", { timeout: 30_000 }, async () => {
  await serving([{ expect: "something else", say: "x" }], async (server) => {
    const client = await server.client();
    const run = (await client.sessions.create()).prompt("hello");
    await assert.rejects(run.text(), (error) => error instanceof RunFailed && /does not contain/.test(error.message));
    assert.equal((await run.result).status, "failed");
  });
});

test("the journal says what happened", { timeout: 30_000 }, async () => {
  await serving(
    { turns: [{ call: { tool: "bash", args: { command: "echo" } } }, { say: "done" }], args: FREE },
    async (server) => {
      const client = await server.client();
      await client.guard("BeforeToolUse", () => deny("no"), { name: "gate" });
      const { session } = await prompted(client);
      const lines: { number: number; kind: string; line: unknown }[] = [];
      for await (const line of client.records(session)) lines.push(line);
      assert.deepEqual(
        lines.map(({ number }) => number),
        lines.map((_, place) => place + 1),
      );
      const dispatches = lines.filter(({ kind }) => kind === "dispatched");
      assert.ok(dispatches.some(({ line }) => JSON.stringify(line).includes(`"decided_by":"gate"`)));
      const kinds = new Set<string>();
      for await (const { kind } of client.records(session, { kinds: ["dispatched"], after: 1 })) kinds.add(kind);
      assert.deepEqual([...kinds], ["dispatched"]);
    },
  );
});

test("a session that a server left is taken up by the next", { timeout: 30_000 }, async () => {
  const home = mkdtempSync(join(tmpdir(), "vertebra-ts-"));
  try {
    let id = "";
    await serving({ turns: [SLOW], home }, async (server) => {
      const client = await server.client();
      const session = await client.sessions.create();
      id = session.id;
      const run = session.prompt("wait");
      for await (const event of run) if (event.event === "delta") break;
      // The journal knows of it some milliseconds later; before that there is nothing to be taken up.
      for (let began = false; !began; )
        for await (const _ of client.records(id, { kinds: ["run_began"] })) began = true;
    });
    await serving({ turns: [{ say: "here I am again" }], home }, async (server) => {
      const client = await server.client();
      const { sessions } = await client.sessions.list();
      assert.deepEqual(
        sessions.map((session) => [session.id, session.info.status]),
        [[id, "suspended"]],
      );
      assert.equal(await client.sessions.resume(id).text(), "here I am again");
      assert.equal((await client.sessions.get(id)).info.status, "idle");
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test("the journal is followed to the end of the session", { timeout: 30_000 }, async () => {
  await serving([{ say: "done" }], async (server) => {
    const client = await server.client();
    const session = await client.sessions.create();
    const kinds: string[] = [];
    const reading = (async () => {
      for await (const { kind } of client.records(session.id, { follow: true })) kinds.push(kind);
    })();
    await session.prompt("go").result;
    await session.close();
    await reading;
    assert.deepEqual([kinds[0], kinds.includes("run_ended"), kinds.at(-1)], ["session_began", true, "session_ended"]);
  });
});
