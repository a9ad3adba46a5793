// The events of a session while its runs continue.

import type { SessionEvent as WireEvent } from "../gen/vertebra/v1/sessions_pb.js";
import type { Args, Duration, Json, RunStatus, Stopped, ToolCall, ToolResult, Usage } from "../points/data.js";

/** What a verdict is, whatever its point. */
export type Kind =
  | "proceed"
  | "skip"
  | "allow"
  | "replace"
  | "recover"
  | "retry"
  | "hold"
  | "ask"
  | "stop"
  | "go_on"
  | "halt"
  | "deny";

/** What became of a hook that matched. */
export type Ran =
  | { readonly ran: "answered"; readonly verdict: Kind; readonly reason?: string }
  | {
      readonly ran: "failed";
      readonly failure: Json;
      readonly policy: "open" | "closed" | "ask";
      readonly verdict: Kind;
      readonly attempts: number;
    }
  | { readonly ran: "skipped"; readonly why: Json }
  | { readonly ran: "detached" | "dropped" };

/** One hook in a dispatch. */
export interface Trace {
  readonly hook: string;
  readonly role: "hook" | "guard" | "watch" | "around";
  readonly ran: Ran;
  readonly changes?: readonly { readonly path: string; readonly before?: Json; readonly after?: Json }[];
  readonly took: Duration;
  readonly shadow?: boolean;
  readonly account?: Json;
}

/** One dispatch: who ran, in which order, how long, what changed, who decided. */
export interface DispatchRecord {
  readonly point: string;
  readonly hooks: readonly Trace[];
  /** The strongest verdict. */
  readonly verdict: Kind;
  /** Whose verdict that was. */
  readonly decided_by?: string;
  readonly reason?: string;
  readonly took: Duration;
}

/** How a run ended. */
export interface RunReport {
  readonly session_id: string;
  readonly run_id: string;
  readonly status: RunStatus;
  /** Why it ended, and who ended it. */
  readonly stop: Stopped;
  /** The last thing the model said. */
  readonly text: string;
  readonly steps: number;
  /** Blocked ones included. */
  readonly tool_calls: number;
  readonly usage: Usage;
  readonly duration_ms: number;
}

/** What happened. */
export type News =
  | { readonly event: "step"; readonly step: number }
  | {
      readonly event: "delta";
      readonly channel: "text" | "reasoning" | "call";
      readonly text: string;
      /** In the channel `call`: the zero-based index of the call within the answer, and its tool. */
      readonly index?: number;
      readonly tool?: string;
    }
  | { readonly event: "tool_began"; readonly call: ToolCall }
  | { readonly event: "tool_says"; readonly call_id: string; readonly text: string }
  | { readonly event: "tool_ended"; readonly call: ToolCall; readonly result: ToolResult }
  | { readonly event: "hooks"; readonly record: DispatchRecord; readonly subject: string; readonly call_id?: string }
  | { readonly event: "used"; readonly usage: Usage }
  | { readonly event: "asked"; readonly approval: Json }
  | { readonly event: "decided"; readonly call_id: string; readonly decision: Json }
  | { readonly event: "notice"; readonly kind: string; readonly message: string }
  | {
      readonly event: "retry";
      /** Why the model call failed. */
      readonly message: string;
      /** Which retry follows the wait, from 1. */
      readonly retry: number;
      readonly wait_ms: number;
      /** Whether a part of the failed answer was shown. The next answer replaces it. */
      readonly cut_off: boolean;
    }
  | { readonly event: "missed"; readonly events: number }
  | { readonly event: "ended"; readonly report: RunReport };

/** Something that happened in a session. `event` says what, and what else there is. */
export type SessionEvent = News & {
  /** From 1, without gaps. */
  readonly number: number;
  readonly run_id: string;
  readonly agent: string;
  /** How many delegations deep. */
  readonly depth: number;
};

/** What came over the wire, read. */
export function newsOf(event: WireEvent): SessionEvent {
  const news = JSON.parse(event.json) as Args;
  return {
    run_id: event.runId,
    agent: "",
    depth: 0,
    event: event.kind,
    ...news,
    number: Number(event.number),
  } as SessionEvent;
}

/** How the run ended, if this event is the end of a run that no other run started. */
export function endOf(event: SessionEvent): RunReport | undefined {
  return event.event === "ended" && event.depth === 0 ? event.report : undefined;
}
