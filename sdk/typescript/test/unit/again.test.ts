import assert from "node:assert/strict";
import { test } from "node:test";
import { VertebraError } from "../../src/index.js";
import { pauseMs, unbroken } from "../../src/transport/again.js";

test("pauses double, end at ten seconds, and are not the same for everybody", () => {
  const longest = [0, 1, 2, 3, 10, 1000].map((attempt) => pauseMs(attempt, () => 1));
  assert.deepEqual(longest, [100, 200, 400, 800, 10_000, 10_000]);
  assert.equal(
    pauseMs(0, () => 0),
    50,
  );
});

async function* broken(items: number[], error: Error): AsyncGenerator<number> {
  yield* items;
  throw error;
}

async function all(stream: AsyncIterable<number>): Promise<number[]> {
  const items: number[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

const lost = new VertebraError("unavailable", "lost");

test("a stream that breaks off goes on behind the last thing it told", async () => {
  const opened: (number | undefined)[] = [];
  const open = (last: number | undefined): AsyncIterable<number> => {
    opened.push(last);
    return opened.length === 1
      ? broken([1, 2], lost)
      : (async function* () {
          yield 3;
        })();
  };
  assert.deepEqual(await all(unbroken(open, new AbortController().signal)), [1, 2, 3]);
  assert.deepEqual(opened, [undefined, 2]);
});

test("a stream is not taken up again where that does not help, for ever, or after the end", async () => {
  const never = new AbortController().signal;
  const refused = new VertebraError("permission_denied", "not yours");
  await assert.rejects(all(unbroken(() => broken([], refused), never)), refused);
  let opened = 0;
  const open = (): AsyncIterable<number> => {
    opened += 1;
    return broken([], lost);
  };
  await assert.rejects(all(unbroken(open, never, 1)), lost);
  assert.equal(opened, 2);
  await assert.rejects(all(unbroken(() => broken([], lost), AbortSignal.abort())), lost);
});
