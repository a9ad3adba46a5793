// Coming back after a connection was lost.

import { setTimeout as wait } from "node:timers/promises";
import { VertebraError } from "../errors.js";

const FIRST_MS = 100;
const LONGEST_MS = 10_000;

/** How long a stream has to last so that the next attempt is the first again. */
export const LASTING_MS = 10_000;

/**
 * How long to wait before the next attempt: twice as long each time, up to ten seconds. Half of it is left to chance, so
 * that the clients of a server that comes back do not all come at once.
 */
export function pauseMs(attempt: number, chance: () => number = Math.random): number {
  const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  return Math.round(most / 2 + (most / 2) * chance());
}

/** Waits before an attempt. An abort ends the wait silently: the caller checks the signal anyway. */
export async function pause(attempt: number, signal: AbortSignal): Promise<void> {
  await wait(pauseMs(attempt), undefined, { signal }).catch(() => undefined);
}

/**
 * Reads a stream that can be taken up where it broke off.
 *
 * `open` opens it after the last item that came through, `open(undefined)` at its beginning. It ends when the stream
 * does, and fails when coming back does not help, or has not helped `patience` times in a row.
 */
export async function* unbroken<T>(
  open: (last: T | undefined) => AsyncIterable<T>,
  signal: AbortSignal,
  patience = 8,
): AsyncGenerator<T, void, undefined> {
  let last: T | undefined;
  for (let attempt = 0; ; attempt += 1) {
    const began = performance.now();
    try {
      for await (const item of open(last)) {
        last = item;
        attempt = 0;
        yield item;
      }
      return;
    } catch (thrown) {
      const error = VertebraError.from(thrown);
      if (performance.now() - began > LASTING_MS) attempt = 0;
      if (signal.aborted || !error.isTransient || error.code === "canceled" || attempt >= patience) throw error;
    }
    await pause(attempt, signal);
  }
}
