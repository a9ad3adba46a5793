// One session, as its client holds it.

import { told, VertebraError } from "../errors.js";
import { SessionStatus, type Session as WireSession } from "../gen/vertebra/v1/sessions_pb.js";
import type { Json, Usage } from "../points/data.js";
import { unbroken } from "../transport/again.js";
import type { Wire } from "../transport/wire.js";
import { endOf, newsOf, type SessionEvent } from "./news.js";
import { Run } from "./run.js";

/** What a session is doing. */
export type Status = "idle" | "running" | "suspended" | "closed" | "unspecified";

const STATUS: Readonly<Record<SessionStatus, Status>> = {
  [SessionStatus.UNSPECIFIED]: "unspecified",
  [SessionStatus.IDLE]: "idle",
  [SessionStatus.RUNNING]: "running",
  [SessionStatus.SUSPENDED]: "suspended",
  [SessionStatus.CLOSED]: "closed",
};

/** What is known of a session. */
export interface SessionInfo {
  readonly id: string;
  readonly status: Status;
  /** Who opened it. */
  readonly owner: string;
  /** The folder that is worked in. */
  readonly folder: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The number of its last event. */
  readonly lastEvent: number;
  /** The run that was left without an end, if one was. */
  readonly unfinishedRun?: string;
}

/** What a session came to. */
export interface SessionReport {
  readonly session_id: string;
  readonly usage: Usage;
  readonly tool_calls: number;
  readonly runs: number;
  readonly steps: number;
  readonly duration_ms: number;
  /** What detached watches missed. */
  readonly watches: Json;
}

/** What the server said of a session, read. */
export function infoOf(session: WireSession): SessionInfo {
  return {
    id: session.id,
    status: STATUS[session.status],
    owner: session.owner,
    folder: session.folder,
    labels: session.labels,
    lastEvent: Number(session.lastEvent),
    ...(session.unfinishedRun ? { unfinishedRun: session.unfinishedRun } : {}),
  };
}

/** A conversation with an agent that runs in the server. */
export class Session {
  readonly id: string;
  /** As it was when it was last asked for: see {@link refresh}. */
  info: SessionInfo;
  readonly #wire: Wire;
  readonly #over: AbortSignal;

  /** @internal */
  constructor(wire: Wire, over: AbortSignal, info: SessionInfo) {
    this.#wire = wire;
    this.#over = over;
    this.id = info.id;
    this.info = info;
  }

  /** Runs a prompt. It goes on when the connection is lost, and what happens meanwhile is told afterwards. */
  prompt(text: string): Run {
    return new Run(this.#told(this.#wire.sessions.prompt({ sessionId: this.id, text }, { signal: this.#over })));
  }

  /** Takes up a run that another process left, or that was suspended. */
  resume(): Run {
    return new Run(this.#told(this.#wire.sessions.resume({ sessionId: this.id }, { signal: this.#over })));
  }

  /**
   * What happened after a number, then what happens, until the session is closed. After a lost connection it goes on
   * where it broke off.
   */
  events(options: { readonly after?: number } = {}): AsyncGenerator<SessionEvent, void, undefined> {
    return this.#events(options.after ?? 0);
  }

  /** Asks the run that is under way to end; says whether there was one. */
  async cancel(): Promise<boolean> {
    return (await told(this.#wire.sessions.cancel({ sessionId: this.id }))).wasRunning;
  }

  /** Ends the session: its end is told, and what ran behind it is waited for. */
  async close(): Promise<SessionReport> {
    const { reportJson } = await told(this.#wire.sessions.close({ sessionId: this.id }));
    return JSON.parse(reportJson) as SessionReport;
  }

  /** Asks the server how it stands with the session. */
  async refresh(): Promise<SessionInfo> {
    this.info = infoOf(await told(this.#wire.sessions.get({ sessionId: this.id })));
    return this.info;
  }

  /** The events of one run: those of its own stream, and after a lost connection the rest of them. */
  async *#told(stream: AsyncIterable<Parameters<typeof newsOf>[0]>): AsyncGenerator<SessionEvent, void, undefined> {
    let last: SessionEvent | undefined;
    try {
      for await (const event of stream) {
        last = newsOf(event);
        yield last;
      }
      return;
    } catch (thrown) {
      const error = VertebraError.from(thrown);
      // Before the first event nobody knows whether the prompt was taken; to send it again might run it twice.
      if (!last || !error.isTransient || this.#over.aborted) throw error;
    }
    if (endOf(last)) return;
    const run = last.run_id;
    for await (const event of this.#events(last.number)) {
      const another = event.depth === 0 && event.event !== "missed" && event.run_id !== run;
      if (another) continue;
      yield event;
      if (endOf(event)) return;
    }
  }

  #events(after: number): AsyncGenerator<SessionEvent, void, undefined> {
    const { sessions } = this.#wire;
    const open = (last: SessionEvent | undefined): AsyncIterable<SessionEvent> =>
      read(sessions.events({ sessionId: this.id, after: BigInt(last?.number ?? after) }, { signal: this.#over }));
    return unbroken(open, this.#over);
  }
}

async function* read(
  stream: AsyncIterable<Parameters<typeof newsOf>[0]>,
): AsyncGenerator<SessionEvent, void, undefined> {
  for await (const event of stream) yield newsOf(event);
}
