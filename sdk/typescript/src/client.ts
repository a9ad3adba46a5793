// The client of a server: its hooks, its sessions, and the questions that wait there.

import { randomUUID } from "node:crypto";
import { Approvals } from "./approvals.js";
import type { HookEngine } from "./engine/engine.js";
import type { EngineConnection, EngineOptions } from "./engine/in_force.js";
import { told } from "./errors.js";
import type { Fired, Trial } from "./fire.js";
import {
  type AnyHandler,
  answering,
  type GuardHandler,
  type HookHandler,
  type OwnHandler,
  type WatchHandler,
} from "./hooks/handlers.js";
import { Link } from "./hooks/link.js";
import { type HookInfo, listHooks } from "./hooks/list.js";
import type { Match } from "./hooks/match.js";
import { type AnyOptions, type GuardOptions, type HookOptions, hold, type WatchOptions } from "./hooks/registration.js";
import type { Role } from "./points/answer.js";
import { type AnyPointName, type PointOf, pointNamed } from "./points/names.js";
import { OwnPoint } from "./points/own.js";
import { type GuardPoint, rowOf } from "./points/table.js";
import { type Report, warn } from "./problem.js";
import { type RecordLine, type RecordOptions, readRecords } from "./records.js";
import { Sessions } from "./sessions/sessions.js";
import { type Wire, type WireOptions, wire } from "./transport/wire.js";

/** How to connect. */
export interface ConnectOptions extends WireOptions {
  /**
   * The client's own name; a random one unless given. A process that comes back under it within the server's grace time
   * takes over the hooks and the events that wait for it.
   */
  readonly clientId?: string;
  /** Receives problems in the background; the default is Node's warnings. */
  readonly onProblem?: Report;
}

/** What the server says of itself and of us. */
export interface ServerInfo {
  readonly version: string;
  /** Who the server takes us for. */
  readonly principal: string;
  /** How long the hooks of a lost client wait for it. */
  readonly graceMs: number;
}

/** A hook that is in force. */
export interface Registration extends AsyncDisposable {
  readonly name: string;
  /** Takes it out of force. */
  unregister(): Promise<void>;
}

/** Where an event is fired. */
export interface FireOptions {
  /** The session whose hooks are asked; without one, the hooks of this owner's clients. */
  readonly session?: string;
}

/** The points at which a guard is possible, by any of their names. */
type GuardPointName = { [N in AnyPointName]: PointOf<N> extends GuardPoint ? N : never }[AnyPointName];

/**
 * Connects to a server.
 *
 * ```ts
 * const client = await connect("http://127.0.0.1:7777", { token });
 * await client.guard("BeforeToolUse", { command: "--force" }, () => deny("force is for people"));
 * ```
 *
 * @param address `http://HOST:PORT`, `https://HOST:PORT`, `tcp://HOST:PORT` or `unix:///PATH`.
 */
export async function connect(address: string, options: ConnectOptions = {}): Promise<Client> {
  const line = wire(address, options);
  const link = new Link(line, options.clientId ?? randomUUID(), options.onProblem ?? warn);
  try {
    const { serverVersion, principal, graceMs } = await link.open();
    return new Client(line, link, options.onProblem ?? warn, { version: serverVersion, principal, graceMs });
  } catch (error) {
    line.close();
    throw error;
  }
}

/** A connection to a server. It comes back by itself when it is lost. */
export class Client implements AsyncDisposable {
  /** What the server said of itself and of us. */
  readonly server: ServerInfo;
  /** Conversations with the server's agent. */
  readonly sessions: Sessions;
  /** Questions that people answer. */
  readonly approvals: Approvals;
  /** @internal */
  readonly report: Report;
  /** @internal */
  readonly link: Link;
  readonly #wire: Wire;
  readonly #over = new AbortController();
  #unnamed = 0;

  /** @internal */
  constructor(wire: Wire, link: Link, report: Report, server: ServerInfo) {
    this.#wire = wire;
    this.link = link;
    this.report = report;
    this.server = server;
    this.sessions = new Sessions(wire, this.#over.signal);
    this.approvals = new Approvals(wire, this.#over.signal);
  }

  /** Puts a hook in force: it may change what the event is about, and decide. */
  on<N extends AnyPointName>(point: N, handler: HookHandler<PointOf<N>>, options?: HookOptions): Promise<Registration>;
  on<N extends AnyPointName>(
    point: N,
    match: Match,
    handler: HookHandler<PointOf<N>>,
    options?: HookOptions,
  ): Promise<Registration>;
  on<E extends object>(point: OwnPoint<E>, handler: OwnHandler<E>, options?: HookOptions): Promise<Registration>;
  on<E extends object>(
    point: OwnPoint<E>,
    match: Match,
    handler: OwnHandler<E>,
    options?: HookOptions,
  ): Promise<Registration>;
  on(point: AnyPointName | OwnPoint<object>, ...written: Written): Promise<Registration> {
    return this.#put("hook", point, written);
  }

  /** Puts a guard in force: it sees exactly what would happen, and decides. Its failure is a no. */
  guard<N extends GuardPointName>(
    point: N,
    handler: GuardHandler<PointOf<N>>,
    options?: GuardOptions,
  ): Promise<Registration>;
  guard<N extends GuardPointName>(
    point: N,
    match: Match,
    handler: GuardHandler<PointOf<N>>,
    options?: GuardOptions,
  ): Promise<Registration>;
  guard<E extends object>(point: OwnPoint<E>, handler: OwnHandler<E>, options?: GuardOptions): Promise<Registration>;
  guard<E extends object>(
    point: OwnPoint<E>,
    match: Match,
    handler: OwnHandler<E>,
    options?: GuardOptions,
  ): Promise<Registration>;
  guard(point: AnyPointName | OwnPoint<object>, ...written: Written): Promise<Registration> {
    return this.#put("guard", point, written);
  }

  /** Puts a watch in force: it sees what was decided and happens, and decides nothing. */
  watch<N extends AnyPointName>(
    point: N,
    handler: WatchHandler<PointOf<N>>,
    options?: WatchOptions,
  ): Promise<Registration>;
  watch<N extends AnyPointName>(
    point: N,
    match: Match,
    handler: WatchHandler<PointOf<N>>,
    options?: WatchOptions,
  ): Promise<Registration>;
  watch<E extends object>(point: OwnPoint<E>, handler: OwnHandler<E>, options?: WatchOptions): Promise<Registration>;
  watch<E extends object>(
    point: OwnPoint<E>,
    match: Match,
    handler: OwnHandler<E>,
    options?: WatchOptions,
  ): Promise<Registration>;
  watch(point: AnyPointName | OwnPoint<object>, ...written: Written): Promise<Registration> {
    return this.#put("watch", point, written);
  }

  /** Puts the hooks of an engine in force: the same as `engine.connect(client)`. */
  use(engine: HookEngine, options?: EngineOptions): Promise<EngineConnection> {
    return engine.connect(this, options);
  }

  /**
   * Puts one event to the hooks that govern a session, or to those that this owner's clients have registered. Nothing is
   * done besides: what the answer means at a custom point is for the caller to say.
   */
  fire(event: Trial, options?: FireOptions): Promise<Fired>;
  fire<E extends object>(point: OwnPoint<E>, event: Partial<E>, options?: FireOptions): Promise<Fired>;
  async fire(first: Trial | OwnPoint<object>, second: object = {}, third: FireOptions = {}): Promise<Fired> {
    const isOwn = first instanceof OwnPoint;
    const event = isOwn ? { ...second, point: first.name } : first;
    const { session = "" } = isOwn ? third : (second as FireOptions);
    const request = { eventJson: JSON.stringify(event), sessionId: session };
    const { judgementJson, recordJson } = await told(this.#wire.hooks.fire(request));
    return { judgement: JSON.parse(judgementJson), record: JSON.parse(recordJson) };
  }

  /** The hooks in force in a session, or those that this owner's clients have registered, in the order they run. */
  hooks(session = ""): Promise<readonly HookInfo[]> {
    return listHooks(this.#wire, session);
  }

  /** The lines of a session's journal, in order; with `follow` also those to come. */
  records(session: string, options: RecordOptions = {}): AsyncGenerator<RecordLine, void, undefined> {
    return readRecords(this.#wire, session, options, this.#over.signal);
  }

  /**
   * Ends the connection. Its hooks are taken out of force first; with `leaveHooks` they stay behind for the server's
   * grace time, and refuse what they guard until a client of the same `clientId` comes back.
   */
  async close(options: { readonly leaveHooks?: boolean } = {}): Promise<void> {
    await this.link.close(options.leaveHooks ? "leave" : "take back");
    this.#over.abort();
    this.#wire.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Takes a hook as it was written to the server. */
  async #put(role: Role, named: AnyPointName | OwnPoint<object>, written: Written): Promise<Registration> {
    const point = typeof named === "string" ? pointNamed(named) : named;
    if (point === undefined) throw new TypeError(`unknown point \`${named}\``);
    if (role === "guard" && !rowOf(point).guard) {
      throw new TypeError(
        `a guard is not possible at ${point}: use \`watch\` to see what happens, or \`on\` to change it`,
      );
    }
    const [match, handler, options = {}] = read(written);
    if (typeof handler !== "function") throw new TypeError(`the handler of a ${role} at ${point} is a function`);
    const name = options.name ?? this.#name(role, String(point));
    await this.link.register(hold(name, point, role, match, options, answering(point, role, handler)));
    const unregister = (): Promise<void> => this.link.unregister(name);
    return { name, unregister, [Symbol.asyncDispose]: unregister };
  }

  #name(role: Role, point: string): string {
    this.#unnamed += 1;
    return `${role}-${point}-${this.#unnamed}`;
  }
}

/** The arguments after the point in a call of `on`, `guard` or `watch`: the matcher is optional. */
type Written = [Match | AnyHandler, (AnyHandler | AnyOptions)?, AnyOptions?];

function read([first, second, third]: Written): [
  Match | undefined,
  AnyHandler | AnyOptions | undefined,
  AnyOptions | undefined,
] {
  return typeof first === "function" ? [undefined, first, second as AnyOptions | undefined] : [first, second, third];
}
