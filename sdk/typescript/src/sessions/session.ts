// One session, as its client holds it.

import { told } from "../errors.js";
import { SessionStatus, type Session as WireSession } from "../gen/vertebra/v1/sessions_pb.js";
import type { Json, Usage } from "../points/data.js";
import type { Wire } from "../transport/wire.js";
import type { SessionEvent } from "./news.js";
import type { Run } from "./run.js";
import { eventsIn, type Place, promptIn, resumeIn } from "./under_way.js";

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

/** The totals of a session. */
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
  readonly #place: Place;

  /** @internal */
  constructor(wire: Wire, over: AbortSignal, info: SessionInfo) {
    this.#place = { wire, over, id: info.id };
    this.id = info.id;
    this.info = info;
  }

  /** Runs a prompt. The run continues if the connection is lost, and its events are delivered afterwards. */
  prompt(text: string): Run {
    return promptIn(this.#place, text);
  }

  /** Takes up a run that another process left, or that was suspended. */
  resume(): Run {
    return resumeIn(this.#place);
  }

  /**
   * Yields past events after this number, then new ones, until the session is closed. After a lost connection it
   * resumes where it stopped.
   */
  events(options: { readonly after?: number } = {}): AsyncGenerator<SessionEvent, void, undefined> {
    return eventsIn(this.#place, options.after ?? 0);
  }

  /** Asks the run that is under way to end; says whether there was one. */
  async cancel(): Promise<boolean> {
    return (await told(this.#place.wire.sessions.cancel({ sessionId: this.id }))).wasRunning;
  }

  /** Ends the session: fires `SessionEnd` and waits for detached watches. */
  async close(): Promise<SessionReport> {
    const { reportJson } = await told(this.#place.wire.sessions.close({ sessionId: this.id }));
    return JSON.parse(reportJson) as SessionReport;
  }

  /** Asks the server how it stands with the session. */
  async refresh(): Promise<SessionInfo> {
    this.info = infoOf(await told(this.#place.wire.sessions.get({ sessionId: this.id })));
    return this.info;
  }
}
