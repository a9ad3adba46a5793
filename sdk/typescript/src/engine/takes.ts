// What events of each type can take: what may be changed, in the words of the payload, and how they are refused.

import type { Args } from "../points/data.js";
import { type PointName, rowOf } from "../points/table.js";
import type { HookEventType } from "./hook.js";
import type {
  FiredEvent,
  GenerateEndPayload,
  GenerateStartPayload,
  PostToolUsePayload,
  SessionStartPayload,
} from "./payload.js";
import type { HookResponse } from "./response.js";

/** The point of each event type. */
export const POINT_OF = {
  pre_tool_use: "BeforeToolUse",
  post_tool_use: "AfterToolUse",
  generate_start: "BeforeInference",
  generate_end: "AfterInference",
  session_start: "SessionStart",
  session_end: "SessionEnd",
} as const satisfies Record<HookEventType, PointName>;

/** What a handler may name in `modified`. Before a tool it is the arguments, whatever they are. */
const OPEN: Readonly<Record<HookEventType, readonly string[] | "args">> = {
  pre_tool_use: "args",
  post_tool_use: ["success", "output", "exit_code", "duration_ms"],
  generate_start: ["prompt", "system_prompt", "model_provider", "model_name", "available_tools"],
  generate_end: ["response_text", "tool_calls"],
  session_start: ["system_prompt"],
  session_end: [],
};

/** A change, in the words of the payload. */
export type Change =
  | { readonly of: "pre_tool_use"; readonly args: Args }
  | { readonly of: "post_tool_use"; readonly fields: Partial<PostToolUsePayload["result"]> }
  | { readonly of: "generate_start"; readonly fields: Partial<GenerateStartPayload> }
  | { readonly of: "generate_end"; readonly fields: Partial<GenerateEndPayload> }
  | { readonly of: "session_start"; readonly fields: Partial<SessionStartPayload> };

/** Reads what a handler wrote as `modified`, or says what can be changed there. */
export function changeOf(type: HookEventType, modified: unknown): Change {
  if (typeof modified !== "object" || modified === null || Array.isArray(modified)) {
    throw new TypeError("`modified` is an object");
  }
  if (type === "pre_tool_use") return { of: type, args: modified };
  const open = OPEN[type];
  const closed = Object.keys(modified).find((key) => !open.includes(key));
  if (type === "session_end" || closed !== undefined) {
    const can = open.length === 0 ? "nothing can be" : `what can be is ${String(open).replaceAll(",", ", ")}`;
    throw new TypeError(`\`${closed ?? "modified"}\` cannot be changed at ${type}; ${can}`);
  }
  return { of: type, fields: modified } as Change;
}

/**
 * What `Block` does: it denies, or stops the run where it is too late to deny. Where neither is possible it is an
 * error.
 */
export function refusal(type: HookEventType): "deny" | "stop" {
  const { verdicts } = rowOf(POINT_OF[type]);
  const verdict = (["deny", "stop"] as const).find((verdict) => verdicts.includes(verdict));
  if (!verdict) throw new TypeError(`nothing can be blocked at ${type}`);
  return verdict;
}

/** Looks whether events of this type can take the answer. It is never ignored. */
export function honoured(type: HookEventType, response: HookResponse): HookResponse {
  if (response.action === "Block") refusal(type);
  if (response.action === "Retry" && !rowOf(POINT_OF[type]).verdicts.includes("retry")) {
    throw new TypeError(`nothing can be done again at ${type}`);
  }
  if (response.modified !== undefined) changeOf(type, response.modified);
  return response;
}

/** The event as a change leaves it. */
export function changed(event: FiredEvent, change: Change): FiredEvent {
  const payload: Args = event.payload;
  switch (change.of) {
    case "pre_tool_use":
      return { ...event, payload: { ...payload, args: change.args } } as FiredEvent;
    case "post_tool_use":
      return { ...event, payload: { ...payload, result: { ...payload.result, ...change.fields } } } as FiredEvent;
    default:
      return { ...event, payload: { ...payload, ...change.fields } } as FiredEvent;
  }
}
