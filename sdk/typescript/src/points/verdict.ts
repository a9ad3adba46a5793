// Verdicts: what a hook may answer. Each is a function and a type, and each point lists those that it honours, so that an
// answer which a point cannot honour does not compile.

import type { Json, ModelResponse, ToolResult } from "./data.js";
import type { POINTS, PointName, VerdictWord } from "./table.js";

/** No opinion. */
export interface Proceed {
  readonly verdict: "proceed";
}
/** No opinion, and the hooks after this one need not run. Guards run all the same. */
export interface Skip {
  readonly verdict: "skip";
}
/** The operation needs no permission. */
export interface Allow {
  readonly verdict: "allow";
}
/** A person has to decide. */
export interface Ask {
  readonly verdict: "ask";
  readonly reason: string;
}
/** The operation must not happen. */
export interface Deny {
  readonly verdict: "deny";
  readonly reason: string;
}
/** Here is the result: the operation need not happen. */
export interface Replace<W> {
  readonly verdict: "replace";
  readonly with: W;
}
/** The failure is made good. */
export interface Recover<W> {
  readonly verdict: "recover";
  readonly with: W;
}
/** Wait, then try again. */
export interface Retry {
  readonly verdict: "retry";
  readonly after_ms: number;
}
/** Keep this piece back for now. */
export interface Hold {
  readonly verdict: "hold";
}
/** End the run. */
export interface Stop {
  readonly verdict: "stop";
  readonly reason: string;
}
/** Continues with an instruction. */
export interface GoOn {
  readonly verdict: "go_on";
  readonly instruction: string;
}
/** End the stream. */
export interface Halt {
  readonly verdict: "halt";
  readonly reason: string;
}

/** What a tool would have given: just what the model reads, or more of it. */
export type Outcome =
  | string
  | {
      readonly output: string;
      readonly success?: boolean;
      readonly exit_code?: number;
      readonly data?: Json;
    };

/** What a model would have answered: just its text, or more of it. */
export type Said = string | Partial<ModelResponse>;

/** The replacement result, by verdict and point. */
interface InPlace {
  replace: { BeforeInference: Said; BeforeToolUse: Outcome };
  recover: { ToolUseFailed: Outcome; OnError: string };
}

/** The type of a verdict at a point. */
interface Verdicts<P extends PointName> {
  allow: Allow;
  ask: Ask;
  deny: Deny;
  replace: Replace<P extends keyof InPlace["replace"] ? InPlace["replace"][P] : never>;
  recover: Recover<P extends keyof InPlace["recover"] ? InPlace["recover"][P] : never>;
  retry: Retry;
  hold: Hold;
  stop: Stop;
  go_on: GoOn;
  halt: Halt;
}

/** A verdict that this point honours. */
export type VerdictAt<P extends PointName> =
  | Proceed
  | Skip
  | Verdicts<P>[(typeof POINTS)[P]["verdicts"][number] & VerdictWord];

/** No opinion: the event proceeds. */
export const proceed = (): Proceed => ({ verdict: "proceed" });

/** No opinion, and the hooks after this one need not run. Guards run all the same. */
export const skip = (): Skip => ({ verdict: "skip" });

/** The operation needs no permission. Denies still win. */
export const allow = (): Allow => ({ verdict: "allow" });

/** A person must approve; the call is blocked if there is no approver. */
export const ask = (reason: string): Ask => ({ verdict: "ask", reason });

/** The operation must not happen; the model reads the reason. */
export const deny = (reason: string): Deny => ({ verdict: "deny", reason });

/** Here is the result: the operation need not happen. */
export const replace = <const W extends Said | Outcome>(instead: W): Replace<W> => ({
  verdict: "replace",
  with: instead,
});

/** The failure is made good by this. */
export const recover = <const W extends Outcome>(by: W): Recover<W> => ({ verdict: "recover", with: by });

/** Wait so many milliseconds, then try again. An operation has three retries. */
export const retry = (afterMs: number): Retry => ({ verdict: "retry", after_ms: afterMs });

/** Keep this piece back; it comes again together with the next one. */
export const hold = (): Hold => ({ verdict: "hold" });

/** End the run, softly: a hook that says {@link goOn} may still win. */
export const stop = (reason: string): Stop => ({ verdict: "stop", reason });

/** Continues with an instruction for the model. Overrides every soft stop, never a hard one. */
export const goOn = (instruction: string): GoOn => ({ verdict: "go_on", instruction });

/** End the stream: this piece and all after it are withheld. */
export const halt = (reason: string): Halt => ({ verdict: "halt", reason });

/** What a tool would have given, in the form that crosses the wire. */
export function resultOf(outcome: Outcome): ToolResult {
  const given = typeof outcome === "string" ? { output: outcome } : outcome;
  const success = given.success ?? (given.exit_code ?? 0) === 0;
  return { status: success ? "done" : "failed", duration_ms: 0, ...given, success };
}
