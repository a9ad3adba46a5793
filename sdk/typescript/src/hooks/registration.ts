// A hook of this client: its registration on the server, and the handler that answers for it.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  FailurePolicy,
  type Hook,
  HookSchema,
  type Scope,
  ScopeSchema,
  Role as WireRole,
} from "../gen/vertebra/v1/hooks_pb.js";
import type { Role } from "../points/answer.js";
import type { OwnPoint } from "../points/own.js";
import type { PointName } from "../points/table.js";
import { type Match, wireMatcher } from "./match.js";

/** Which sessions a hook governs: those of its client's owner, one, or all of the server's. */
export type HookScope = "own" | "everything" | { readonly session: string };

/** What a hook may say when it failed: nothing, no, or ask a person. */
export type OnFailure = "open" | "closed" | "ask";

/** What is the same for hooks, guards and watches. */
export interface CommonOptions {
  /** Its name, unique among the hooks of the client. */
  readonly name?: string;
  /** Lower runs first. */
  readonly priority?: number;
  /** How long an answer may take, in milliseconds; 30 s unless told otherwise. */
  readonly timeout?: number;
  /** Hooks that have to run after it, by name. */
  readonly before?: readonly string[];
  /** Hooks that have to run before it, by name. */
  readonly after?: readonly string[];
  /** Which sessions it governs: those that the client's owner opens, unless told otherwise. */
  readonly scope?: HookScope;
}

/** How a guard is put in force. */
export interface GuardOptions extends CommonOptions {
  /** How often it is asked again when it failed. */
  readonly maxRetries?: number;
  /** Decides nothing; what it would have said is in the record. */
  readonly shadow?: boolean;
}

/** How a hook is put in force. */
export interface HookOptions extends GuardOptions {
  /** What its failure counts as: closed where something can be refused and open elsewhere, unless told otherwise. */
  readonly onFailure?: OnFailure;
}

/** How a watch is put in force. */
export interface WatchOptions extends CommonOptions {
  /** The server does not wait for the handler. */
  readonly detached?: boolean;
}

/** All of it. */
export type AnyOptions = HookOptions & WatchOptions;

/** What a handler receives in addition to the event. */
export interface HookCall {
  /** Aborted when the server no longer waits for the answer: the time is up, or the run has ended. */
  readonly signal: AbortSignal;
  /** How long the answer is waited for. */
  readonly deadlineMs: number;
}

/** What answers for a hook: the event as JSON goes in, the answer as JSON comes out. */
export type Answering = (event: unknown, call: HookCall) => Promise<string>;

/** A hook as the link keeps it. */
export interface Held {
  readonly name: string;
  readonly hook: Hook;
  readonly scope: Scope;
  readonly answer: Answering;
}

const ROLES: Readonly<Record<Role, WireRole>> = {
  hook: WireRole.HOOK,
  guard: WireRole.GUARD,
  watch: WireRole.WATCH,
};

const POLICIES: Readonly<Record<OnFailure, FailurePolicy>> = {
  open: FailurePolicy.OPEN,
  closed: FailurePolicy.CLOSED,
  ask: FailurePolicy.ASK,
};

const OPTIONS: Readonly<Record<keyof AnyOptions, true>> = {
  name: true,
  priority: true,
  timeout: true,
  before: true,
  after: true,
  scope: true,
  maxRetries: true,
  shadow: true,
  onFailure: true,
  detached: true,
};

/** A hook, with everything that is sent to the server. */
export function hold(
  name: string,
  point: PointName | OwnPoint<object>,
  role: Role,
  match: Match | undefined,
  options: AnyOptions,
  answer: Answering,
): Held {
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key));
  if (unknown !== undefined) {
    throw new TypeError(`a ${role} has no option \`${unknown}\`: there are ${Object.keys(OPTIONS).join(", ")}`);
  }
  const hook = create(HookSchema, {
    name,
    point: String(point),
    role: ROLES[role],
    ...(match === undefined ? {} : { match: wireMatcher(match) }),
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout }),
    before: [...(options.before ?? [])],
    after: [...(options.after ?? [])],
    maxRetries: options.maxRetries ?? 0,
    onFailure: options.onFailure === undefined ? FailurePolicy.UNSPECIFIED : POLICIES[options.onFailure],
    shadow: options.shadow ?? false,
    detached: options.detached ?? false,
  });
  return { name, hook, scope: create(ScopeSchema, { which: which(options.scope ?? "own") }), answer };
}

function which(scope: HookScope): NonNullable<MessageInitShape<typeof ScopeSchema>["which"]> {
  if (scope === "own") return { case: "own", value: {} };
  if (scope === "everything") return { case: "everything", value: {} };
  return { case: "sessionId", value: scope.session };
}
