// The points of an agent's life: what a hook may answer at each, and what it may change.

import type { OwnPoint } from "./own.js";
import { ROWS } from "./rows.js";

/** The word of a verdict. Besides these, `proceed` and `skip` can be said everywhere. */
export type VerdictWord =
  | "allow"
  | "ask"
  | "deny"
  | "replace"
  | "recover"
  | "retry"
  | "hold"
  | "stop"
  | "go_on"
  | "halt";

interface Row {
  /** The possible verdicts, in addition to `proceed` and `skip`. */
  readonly verdicts: readonly VerdictWord[];
  /** Whether a guard can stand here. */
  readonly guard: boolean;
  /** What an answer may change: the arguments of a call, or these fields of the event. */
  readonly change: "args" | readonly string[];
}

/** Every point, in the order of an agent's life. */
export const POINTS = ROWS satisfies Record<string, Row>;

/** The name of a point. */
export type PointName = keyof typeof POINTS;

/** The row of a point, without its literal types: for checks at run time. */
export function rowOf(point: PointName | OwnPoint<object>): Row {
  return typeof point === "string" ? POINTS[point] : point;
}

/** A point where a guard can stand. */
export type GuardPoint = { [P in PointName]: (typeof POINTS)[P]["guard"] extends true ? P : never }[PointName];
