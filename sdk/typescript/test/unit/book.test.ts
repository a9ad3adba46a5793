import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClientFrame } from "../../src/gen/vertebra/v1/hooks_pb.js";
import { Book } from "../../src/hooks/book.js";
import { hold } from "../../src/hooks/registration.js";
import { type Problem, VertebraError } from "../../src/index.js";

const hook = (name: string) => hold(name, "BeforeToolUse", "guard", { tool: "bash" }, {}, async () => "");

function book(): { book: Book; sent: string[]; problems: Problem[] } {
  const sent: string[] = [];
  const problems: Problem[] = [];
  const note = ({ frame }: ClientFrame): void => {
    if (frame.case === "register") sent.push(`${frame.value.request} + ${frame.value.hook?.name}`);
    if (frame.case === "unregister") sent.push(`${frame.value.request} - ${frame.value.name}`);
  };
  return { book: new Book(note, (problem) => problems.push(problem)), sent, problems };
}

test("a hook is in force when the server says so, over lost connections too", async () => {
  const { book: it, sent } = book();
  const registered = it.register(hook("a"));
  it.tellAll();
  it.heard(1n, "");
  it.heard(2n, "");
  await registered;
  assert.deepEqual(sent, ["1 + a", "2 + a"]);
  it.tellAll();
  assert.deepEqual(sent.at(-1), "3 + a");
});

test("a hook that the server refuses is not in force, and says why", async () => {
  const { book: it, problems } = book();
  const refused = it.register(hook("a"));
  it.heard(1n, "no such point");
  await assert.rejects(refused, new VertebraError("invalid_argument", "no such point"));
  assert.equal(it.find("a"), undefined);
  assert.deepEqual(problems, []);
});

test("a hook that the server does not take again is reported", async () => {
  const { book: it, problems } = book();
  const registered = it.register(hook("a"));
  it.heard(1n, "");
  await registered;
  it.tellAll();
  it.heard(2n, "not any more");
  assert.deepEqual(problems, [
    {
      kind: "refused",
      hook: "a",
      message: "the server does not take the hook `a` again, so it is not in force: not any more",
    },
  ]);
  assert.equal(it.find("a"), undefined);
});

test("a hook answers until the server has let go of it, and is not registered again", async () => {
  const { book: it, sent } = book();
  const registered = it.register(hook("a"));
  it.heard(1n, "");
  await registered;
  const left = it.unregister("a");
  assert.equal(it.find("a")?.name, "a");
  it.tellAll();
  assert.deepEqual(sent, ["1 + a", "2 - a", "3 - a"]);
  it.heard(3n, "there is no hook `a`");
  await left;
  assert.equal(it.find("a"), undefined);
});

test("two hooks of one client have two names", async () => {
  const { book: it } = book();
  const registered = it.register(hook("a"));
  await assert.rejects(it.register(hook("a")), { code: "already_exists" });
  it.heard(1n, "");
  await registered;
});

test("when the client is closed nobody waits for ever", async () => {
  const { book: it } = book();
  const waiting = it.register(hook("a"));
  const closed = new VertebraError("canceled", "closed");
  it.end(closed);
  await assert.rejects(waiting, closed);
});
