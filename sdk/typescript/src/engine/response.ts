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
  /** Continues. */
  continue_: (): HookResponse => ({ action: "Continue" }),

  /**
   * Continues with changes. Before a tool they replace all arguments; after a tool they set fields of the
   * result; around a model call and at the start of a session they set fields of the payload.
   */
  continue_with: (modified: Args): HookResponse => ({ action: "Continue", modified }),

  /** Blocks the operation. Where it has already happened, the run ends. */
  block: (reason: string): HookResponse => ({ action: "Block", reason }),

  /** Waits, then repeats the operation. */
  retry: (delay_ms: number): HookResponse => ({ action: "Retry", retry_delay_ms: delay_ms }),

  /** Continues and skips the hooks after this one. */
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
  if (!allowed) throw new TypeError(`unknown action \`${response.action}\`: known are ${Object.keys(WITH).join(", ")}`);
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
