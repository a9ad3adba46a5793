import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Approval, ask, type Client, type Decision } from "../../src/index.js";
import { overBoth, serving } from "./server.js";

const turns = [{ call: { tool: "bash", args: { command: "touch made" } } }, { say: "done" }];

/** Runs one prompt, and answers the question it comes to. */
async function answered(client: Client, decision: Decision): Promise<{ question: Approval; output: string }> {
  const session = await client.sessions.create();
  const questions = client.approvals.watch(session.id);
  const run = session.prompt("go");
  for await (const news of questions) {
    if (news.event !== "asked") continue;
    assert.deepEqual(
      (await client.approvals.list(session.id)).map(({ callId }) => callId),
      [news.approval.callId],
    );
    assert.equal(await client.approvals.answer(news.approval, decision), true);
    const settled = await questions.next();
    const word = typeof decision === "string" ? decision : Object.keys(decision)[0];
    assert.deepEqual(settled.value, {
      event: "settled",
      sessionId: session.id,
      callId: news.approval.callId,
      decision: word,
    });
    let output = "";
    for await (const event of run) if (event.event === "tool_ended") output = event.result.output;
    return { question: news.approval, output };
  }
  throw new Error("nobody asked");
}

overBoth("a person approves exactly what was shown", async (transport) => {
  await serving({ turns, args: ["--mode", "bypass"] }, async (server) => {
    const client = await server.client(transport);
    await client.guard("BeforeToolUse", { tool: "bash" }, () => ask("may it?"), { name: "ask-first" });
    const { question } = await answered(client, "approve");
    assert.deepEqual(
      [question.tool, question.args, question.reason, question.askedBy],
      ["bash", { command: "touch made" }, "may it?", "ask-first"],
    );
    assert.ok(existsSync(join(server.folder, "made")));
  });
});

test("a question about a file shows what would change", { timeout: 30_000 }, async () => {
  const write = { call: { tool: "write_file", args: { path: "poem.txt", content: "roses are red\n" } } };
  await serving({ turns: [write, { say: "done" }], args: ["--mode", "bypass"] }, async (server) => {
    const client = await server.client();
    await client.guard("BeforeToolUse", () => ask("may it?"));
    const { question } = await answered(client, "approve");
    assert.match(question.preview, /^\+roses are red$/m);
    assert.ok(existsSync(join(server.folder, "poem.txt")));
  });
});

test("a person says no, and why", { timeout: 30_000 }, async () => {
  await serving({ turns, args: ["--mode", "bypass"] }, async (server) => {
    const client = await server.client();
    await client.guard("BeforeToolUse", () => ask("may it?"));
    const { output } = await answered(client, { deny: "not today" });
    assert.match(output, /not today/);
    assert.ok(!existsSync(join(server.folder, "made")));
  });
});

test("a person says yes to something else", { timeout: 30_000 }, async () => {
  await serving({ turns, args: ["--mode", "bypass"] }, async (server) => {
    const client = await server.client();
    await client.guard("BeforeToolUse", { command: "touch made" }, () => ask("may it?"));
    await answered(client, { edit: { command: "touch other" } });
    assert.deepEqual(
      ["made", "other"].map((name) => existsSync(join(server.folder, name))),
      [false, true],
    );
  });
});

test("a yes to other arguments than those that were shown is none", { timeout: 30_000 }, async () => {
  await serving({ turns, args: ["--mode", "bypass"] }, async (server) => {
    const client = await server.client();
    await client.guard("BeforeToolUse", () => ask("may it?"));
    const session = await client.sessions.create();
    const run = session.prompt("go");
    for await (const news of client.approvals.watch()) {
      assert.equal(news.event, "asked");
      if (news.event !== "asked") return;
      const other = client.approvals.answer({ ...news.approval, digest: "other" }, "approve");
      await assert.rejects(other, { code: "failed_precondition" });
      break;
    }
    await session.cancel();
    assert.equal((await run.result).status, "cancelled");
    assert.ok(!existsSync(join(server.folder, "made")));
  });
});

test("a run waits in the journal until somebody has answered, and goes on", { timeout: 30_000 }, async () => {
  await serving({ turns, args: ["--mode", "bypass"] }, async (server) => {
    const client = await server.client();
    await client.guard("BeforeToolUse", () => ask("may it?"));
    const session = await client.sessions.create();
    const run = session.prompt("go");
    for await (const news of client.approvals.watch(session.id)) {
      if (news.event === "asked") await client.approvals.answer(news.approval, "later");
      break;
    }
    assert.equal((await run.result).status, "suspended");
    const [question] = await client.approvals.list(session.id);
    assert.ok(question?.suspended);
    assert.equal(await client.approvals.answer(question, "approve"), false);
    assert.equal(await session.resume().text(), "done");
    assert.ok(existsSync(join(server.folder, "made")));
  });
});
