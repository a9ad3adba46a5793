// What people write: a function that is given an event and answers.

import type { GuardAnswer, HookAnswer, OwnAnswer, Role } from "../points/answer.js";
import { written } from "../points/answer.js";
import type { EventAt } from "../points/events.js";
import type { OwnEvent, OwnPoint } from "../points/own.js";
import type { PointName } from "../points/table.js";
import type { Answering, HookCall } from "./registration.js";

/** A hook: it may change and decide. */
export type HookHandler<P extends PointName> = (
  event: EventAt<P>,
  call: HookCall,
) => HookAnswer<P> | Promise<HookAnswer<P>>;

/** A guard: it sees the final form and decides. */
export type GuardHandler<P extends PointName> = (
  event: EventAt<P>,
  call: HookCall,
) => GuardAnswer<P> | Promise<GuardAnswer<P>>;

/** A watch: it sees, and decides nothing. */
export type WatchHandler<P extends PointName> = (event: EventAt<P>, call: HookCall) => void | Promise<void>;

/** A hook, a guard or a watch at a custom point. */
export type OwnHandler<E extends object> = (event: OwnEvent<E>, call: HookCall) => OwnAnswer | Promise<OwnAnswer>;

/** Any of them, of any point. */
export type AnyHandler = (event: never, call: HookCall) => unknown;

/** A handler as the link asks it. What it answers is looked at before it leaves. */
export function answering(point: PointName | OwnPoint<object>, role: Role, handler: AnyHandler): Answering {
  return async (event, call) => {
    const answer = await handler(event as never, call);
    // The return value of a watch is ignored.
    return written(point, role, role === "watch" ? undefined : answer);
  };
}
