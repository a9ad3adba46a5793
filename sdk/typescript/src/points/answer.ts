// Answers: a verdict, changes, and additional messages for the model; and their wire form.

import type { Args, Json } from "./data.js";
import type { EventAt } from "./events.js";
import type { OwnPoint } from "./own.js";
import { type POINTS, type PointName, rowOf } from "./table.js";
import { type Outcome, resultOf, type VerdictAt } from "./verdict.js";

/** What a hook may do: change and decide, decide alone, or see alone. */
export type Role = "hook" | "guard" | "watch";

/** What of an event an answer may change. */
export type OpenAt<P extends PointName> = (typeof POINTS)[P]["change"] extends readonly (infer F)[]
  ? Pick<EventAt<P>, F & keyof EventAt<P>>
  : Args;

type Nothing = { readonly modified?: never; readonly patch?: never; readonly set?: never };

type Change<P extends PointName> = keyof OpenAt<P> extends never
  ? Nothing
  :
      | Nothing
      /** Replaces what may be changed: all arguments of a call, or the fields that are named. */
      | { readonly modified: Partial<OpenAt<P>>; readonly patch?: never; readonly set?: never }
      /** A JSON merge patch of it: objects merge, `null` removes. */
      | { readonly patch: Readonly<Record<string, Json>>; readonly modified?: never; readonly set?: never }
      /** Single arguments or fields, in place of those there are. */
      | { readonly set: Partial<OpenAt<P>>; readonly modified?: never; readonly patch?: never };

interface Besides {
  /** Additional messages for the model. */
  readonly context?: string | readonly string[];
  /** Anything, for later hooks. */
  readonly note?: Json;
}

type NoVerdict = { readonly verdict?: never; readonly reason?: never };

/** What a hook may answer at a point. Nothing at all has no opinion. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has no opinion.
export type HookAnswer<P extends PointName> = void | undefined | ((VerdictAt<P> | NoVerdict) & Change<P> & Besides);

/** What a guard may answer at a point: a verdict, and nothing that changes. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has no opinion.
export type GuardAnswer<P extends PointName> = void | undefined | VerdictAt<P>;

/** What a hook may answer at a custom point: a verdict, changes, and additional messages for the model. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has no opinion.
export type OwnAnswer = void | undefined | object;

/** An answer that cannot be given where it was. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
}

const CHANGES = ["modified", "patch", "set"] as const;
const BESIDES = ["context", "note"] as const;

/** What goes with each verdict. */
const WITH: Readonly<Record<string, readonly string[]>> = {
  proceed: [],
  skip: [],
  allow: [],
  hold: [],
  ask: ["reason"],
  deny: ["reason"],
  stop: ["reason"],
  halt: ["reason"],
  go_on: ["instruction"],
  retry: ["after_ms"],
  replace: ["with"],
  recover: ["with"],
};

/**
 * Converts an answer to the wire form, or says why its point cannot honour it. No opinion is an empty text.
 *
 * It checks at run time what the types already forbid: handlers may be written in JavaScript, and a typo must not let
 * everything pass.
 */
export function written(point: PointName | OwnPoint<object>, role: Role, answer: unknown): string {
  if (answer === undefined || answer === null) return "";
  if (role === "watch") throw new AnswerError(`a watch at ${point} decides nothing: return nothing, or make it a hook`);
  if (typeof answer !== "object" || Array.isArray(answer)) {
    throw new AnswerError(`${shown(answer)} is not an answer: return a verdict as in deny("…"), or nothing`);
  }
  const given = Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== undefined));
  const text = verdictOf(point, given);
  checkKeys(point, given);
  if (role === "guard") checkGuard(point, given);
  checkChange(point, given);
  return JSON.stringify({ ...given, ...text });
}

/** The verdict among the keys of an answer, in its wire form. */
function verdictOf(point: PointName | OwnPoint<object>, given: Args): Args {
  const word: unknown = given.verdict;
  if (word === undefined) return {};
  const honoured = ["proceed", "skip", ...rowOf(point).verdicts];
  if (typeof word !== "string" || !honoured.includes(word)) {
    throw new AnswerError(`${point} cannot honour ${shown(word)}: it takes ${honoured.join(", ")}`);
  }
  if ("reason" in given && typeof given.reason !== "string") {
    throw new AnswerError(`the reason of ${word} is a text, not ${shown(given.reason)}`);
  }
  if (word === "retry" && !(Number.isSafeInteger(given.after_ms) && given.after_ms >= 0)) {
    throw new AnswerError(`retry waits a whole number of milliseconds, not ${shown(given.after_ms)}`);
  }
  return "with" in given ? { with: inPlace(point, given.with) } : {};
}

/** A replacement result, in its wire form. */
function inPlace(point: PointName | OwnPoint<object>, instead: unknown): unknown {
  switch (point) {
    case "BeforeToolUse":
    case "ToolUseFailed":
      return resultOf(instead as Outcome);
    case "BeforeInference":
      return typeof instead === "string" ? { text: instead } : instead;
    default:
      return instead;
  }
}

function checkKeys(point: PointName | OwnPoint<object>, given: Args): void {
  const word: unknown = given.verdict;
  const needed = typeof word === "string" ? (WITH[word] ?? []) : [];
  const known: readonly string[] = ["verdict", ...needed, ...CHANGES, ...BESIDES];
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new AnswerError(`\`${unknown}\` means nothing in this answer at ${point}`);
  // A denial without a reason is still a denial.
  const missing = needed.find((key) => key !== "reason" && !(key in given));
  if (missing !== undefined) throw new AnswerError(`${String(word)} needs \`${missing}\``);
}

function checkGuard(point: PointName | OwnPoint<object>, given: Args): void {
  const more = [...CHANGES, ...BESIDES].find((key) => key in given);
  if (more === undefined) return;
  throw new AnswerError(`a guard at ${point} decides and changes nothing: make it a hook, or leave out \`${more}\``);
}

function checkChange(point: PointName | OwnPoint<object>, given: Args): void {
  const [way, another] = CHANGES.filter((key) => key in given);
  if (way === undefined) return;
  if (another !== undefined) throw new AnswerError(`\`${way}\` and \`${another}\` are two ways to change; use one`);
  const change: unknown = given[way];
  if (typeof change !== "object" || change === null || Array.isArray(change)) {
    throw new AnswerError(`\`${way}\` is an object, not ${shown(change)}`);
  }
  const open = rowOf(point).change;
  if (open === "args") return;
  if (open.length === 0) throw new AnswerError(`nothing can be changed at ${point}`);
  const closed = Object.keys(change).find((key) => !open.includes(key));
  if (closed !== undefined) {
    throw new AnswerError(`\`${closed}\` cannot be changed at ${point}; what can be is ${open.join(", ")}`);
  }
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? `\`${value}\`` : (JSON.stringify(value) ?? String(value));
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
