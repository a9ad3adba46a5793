// What the journal says.

import type { Json } from "./points/data.js";
import { unbroken } from "./transport/again.js";
import type { Wire } from "./transport/wire.js";

/** A line of the journal. */
export interface RecordLine {
  readonly number: number;
  readonly kind: string;
  /** The line as it is exported. */
  readonly line: Json;
}

/** Which lines. */
export interface RecordOptions {
  /** Only what comes after this line. */
  readonly after?: number;
  /** Only these kinds: `dispatched`, `run_ended`. All unless given. */
  readonly kinds?: readonly string[];
  /** Also those to come. */
  readonly follow?: boolean;
}

/** Reads the lines of a session, in order, over lost connections too. */
export function readRecords(
  wire: Wire,
  session: string,
  options: RecordOptions,
  signal: AbortSignal,
): AsyncGenerator<RecordLine, void, undefined> {
  const { kinds = [], follow = false } = options;
  const open = async function* (last: RecordLine | undefined): AsyncGenerator<RecordLine, void, undefined> {
    const after = BigInt(last?.number ?? options.after ?? 0);
    const lines = wire.records.read({ sessionId: session, after, kinds: [...kinds], follow }, { signal });
    for await (const { number, kind, json } of lines) yield { number: Number(number), kind, line: JSON.parse(json) };
  };
  return unbroken(open, signal);
}
