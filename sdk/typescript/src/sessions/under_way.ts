// What happens in a session, over lost connections too.

import { VertebraError } from "../errors.js";
import type { SessionEvent as WireEvent } from "../gen/vertebra/v1/sessions_pb.js";
import { unbroken } from "../transport/again.js";
import type { Wire } from "../transport/wire.js";
import { endOf, newsOf, type SessionEvent } from "./news.js";
import { Run } from "./run.js";

type Events = AsyncGenerator<SessionEvent, void, undefined>;

/** Where a session is, and whether its client is still there. */
export interface Place {
  readonly wire: Wire;
  /** Aborted when the client is closed. */
  readonly over: AbortSignal;
  readonly id: string;
}

/** Runs a prompt. */
export function promptIn(place: Place, text: string): Run {
  const { wire, over, id: sessionId } = place;
  return new Run(ofRun(place, wire.sessions.prompt({ sessionId, text }, { signal: over })));
}

/** Finishes the run that was left without an end. */
export function resumeIn(place: Place): Run {
  const { wire, over, id: sessionId } = place;
  return new Run(ofRun(place, wire.sessions.resume({ sessionId }, { signal: over })));
}

/** What happened after a number, then what happens, until the session is closed. */
export function eventsIn({ wire, over, id: sessionId }: Place, after: number): Events {
  const open = (last: SessionEvent | undefined): AsyncIterable<SessionEvent> =>
    read(wire.sessions.events({ sessionId, after: BigInt(last?.number ?? after) }, { signal: over }));
  return unbroken(open, over);
}

/** The events of one run: those of its stream, and after a lost connection the rest. */
async function* ofRun(place: Place, stream: AsyncIterable<WireEvent>): Events {
  let last: SessionEvent | undefined;
  try {
    for await (const event of read(stream)) {
      last = event;
      yield event;
    }
    return;
  } catch (thrown) {
    const error = VertebraError.from(thrown);
    if (!error.isTransient || place.over.aborted) throw error;
    // To ask again might do it twice.
    if (!last)
      throw new VertebraError(error.code, `${error.message}; whether the run began is not known`, { cause: error });
  }
  if (endOf(last)) return;
  for await (const event of eventsIn(place, last.number)) {
    if (isOfAnother(event, last.run_id)) continue;
    yield event;
    if (endOf(event)) return;
  }
}

/** Whether an event belongs to another run than this one and its children. */
function isOfAnother({ event, depth, run_id }: SessionEvent, run: string): boolean {
  return depth === 0 && event !== "missed" && run_id !== run;
}

async function* read(stream: AsyncIterable<WireEvent>): Events {
  for await (const event of stream) yield newsOf(event);
}
