import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, type SessionEvent } from "../../src/index.js";
import { overBoth, serving } from "./server.js";

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
