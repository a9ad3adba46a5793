import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Answer, type Event, EventSchema } from "../../src/gen/vertebra/v1/hooks_pb.js";
import { Desk } from "../../src/hooks/desk.js";
import { type Answering, hold } from "../../src/hooks/registration.js";
import type { Problem } from "../../src/index.js";

function desk(answer: Answering): { desk: Desk; sent: Answer[]; problems: Problem[]; next: () => Promise<Answer> } {
  const sent: Answer[] = [];
  const problems: Problem[] = [];
  let wake: (answer: Answer) => void = () => undefined;
  const held = hold("h", "BeforeToolUse", "hook", undefined, {}, answer);
  const send = (answer: Answer): void => {
    sent.push(answer);
    wake(answer);
  };
  const next = (): Promise<Answer> => new Promise((resolve) => (wake = resolve));
  return {
    desk: new Desk(
      (name) => (name === "h" ? held : undefined),
      send,
      (problem) => problems.push(problem),
    ),
    sent,
    problems,
    next,
  };
}

type Fields = Partial<Pick<Event, "hook" | "json" | "deadlineMs">>;

const event = (id: bigint, fields: Fields = {}): Event =>
  create(EventSchema, { id, hook: "h", point: "BeforeToolUse", json: `{"tool":"bash"}`, ...fields });

test("an event that is put again is answered again, and its hook is asked once", async () => {
  let asked = 0;
  const { desk: it, sent, next } = desk(async () => `{"asked":${++asked}}`);
  const first = next();
  it.take(event(1n));
  assert.deepEqual((await first).answer, { case: "json", value: `{"asked":1}` });
  it.take(event(1n));
  assert.equal(sent.length, 2);
  assert.deepEqual(sent[1]?.answer, { case: "json", value: `{"asked":1}` });
});

test("an event that is put again while its hook is at work has one answer", async () => {
  let finish: (json: string) => void = () => undefined;
  let asked = 0;
  const {
    desk: it,
    sent,
    next,
  } = desk(() => {
    asked += 1;
    return new Promise((resolve) => (finish = resolve));
  });
  const first = next();
  it.take(event(1n));
  it.take(event(1n));
  finish("");
  await first;
  assert.deepEqual([asked, sent.length], [1, 1]);
});

test("another event under a number that was used before is a new one", async () => {
  const { desk: it, next } = desk(async (event) => JSON.stringify(event));
  const first = next();
  it.take(event(1n));
  await first;
  const second = next();
  it.take(event(1n, { json: `{"tool":"grep"}` }));
  assert.deepEqual((await second).answer, { case: "json", value: `{"tool":"grep"}` });
});

test("a hook that throws has failed, and so has one whose answer is too large or that is not there", async () => {
  const cases: [Answering, Fields, string][] = [
    [() => Promise.reject(new Error("oh no")), {}, "oh no"],
    [async () => "x".repeat(11), {}, "the answer has 11 bytes; the server takes 10"],
    [async () => "", { hook: "other" }, "this client has no hook `other`"],
    [async () => "", { json: "{" }, "Expected property name"],
  ];
  for (const [answer, fields, message] of cases) {
    const { desk: it, problems, next } = desk(answer);
    it.maxBytes = 10;
    const sent = next();
    it.take(event(1n, fields));
    const { answer: said } = await sent;
    assert.equal(said.case, "failed");
    assert.match(String(said.value), new RegExp(message.slice(0, 20)));
    assert.deepEqual(
      problems.map(({ kind }) => kind),
      ["failed"],
    );
  }
});

test("who is late or was withdrawn is told so, and says nothing any more", async () => {
  for (const over of ["late", "withdrawn"] as const) {
    const { promise: aborted, resolve: abort } = resolvers<unknown>();
    const { promise: answered, resolve: answer } = resolvers<void>();
    const {
      desk: it,
      sent,
      problems,
    } = desk(async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      abort(signal.reason);
      setImmediate(answer);
      return "{}";
    });
    it.take(event(1n, { deadlineMs: over === "late" ? 1 : 0 }));
    if (over === "withdrawn") it.withdraw(1n);
    assert.match(String(await aborted), over === "late" ? /no answer within 1 ms/ : /not waited for any more/);
    await answered;
    assert.deepEqual([sent, problems], [[], []]);
  }
});

function resolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
