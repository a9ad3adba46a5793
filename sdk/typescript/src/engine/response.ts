// What a handler of an engine answers.

import type { Args } from "../points/data.js";

/** What a handler may ask for. */
export type HookAction = "Continue" | "Block" | "Retry" | "Skip";

/** What a handler answers. */
export interface HookResponse {
  readonly action: HookAction;
  /** Why, for `Block`: the model reads it. */
  readonly reason?: string;
  /** What changes, for `Continue`: see {@link HookResponse.continue_with}. */
  readonly modified?: Args;
  /** How long to wait, for `Retry`. */
  readonly retry_delay_ms?: number;
}

export const HookResponse = {
  /** Go on. */
  continue_: (): HookResponse => ({ action: "Continue" }),

  /**
   * Go on with this instead. Before a tool it replaces the arguments, all of them; after a tool it names fields of the
   * result; around a model call and at the start of a session it names fields of the payload.
   */
  continue_with: (modified: Args): HookResponse => ({ action: "Continue", modified }),

  /** It must not happen. Where it has happened already, the run ends. */
  block: (reason: string): HookResponse => ({ action: "Block", reason }),

  /** Wait, then do it again. */
  retry: (delay_ms: number): HookResponse => ({ action: "Retry", retry_delay_ms: delay_ms }),

  /** Go on, and the hooks after this one need not run. */
  skip: (): HookResponse => ({ action: "Skip" }),
} as const;

const WITH: Readonly<Record<HookAction, readonly string[]>> = {
  Continue: ["modified"],
  Block: ["reason"],
  Retry: ["retry_delay_ms"],
  Skip: [],
};

/** Looks at what a handler answered, which may be JavaScript's. A slip of the pen must not let everything pass. */
export function checked(answer: unknown): HookResponse {
  if (typeof answer !== "object" || answer === null || !("action" in answer)) {
    throw new TypeError('a handler answers with an action: `{ action: "Continue" }`');
  }
  const response = answer as HookResponse;
  const allowed = Object.hasOwn(WITH, response.action) ? WITH[response.action] : undefined;
  if (!allowed)
    throw new TypeError(`there is no action \`${response.action}\`: there are ${Object.keys(WITH).join(", ")}`);
  const given = Object.entries(response).filter(([key, value]) => key !== "action" && value !== undefined);
  const unknown = given.find(([key]) => !allowed.includes(key));
  if (unknown) throw new TypeError(`\`${unknown[0]}\` means nothing with ${response.action}`);
  if (typeof (response.reason ?? "") !== "string") throw new TypeError("the `reason` of Block is a text");
  if (
    response.action === "Retry" &&
    !(Number.isSafeInteger(response.retry_delay_ms) && Number(response.retry_delay_ms) >= 0)
  ) {
    throw new TypeError("Retry needs `retry_delay_ms`, a whole number from 0");
  }
  return response;
}
