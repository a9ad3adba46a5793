// The event of each point: exactly what crosses the wire.

import type {
  Args,
  Duration,
  ErrorClass,
  Image,
  Json,
  Limits,
  ModelId,
  ModelRequest,
  ModelResponse,
  RunStatus,
  StepKind,
  Stopped,
  ToolCall,
  ToolResult,
  Usage,
} from "./data.js";
import type { PointName } from "./table.js";

/** What every event carries: who, where, when. */
export interface Head {
  /** Unique, and the same again when the run is replayed. */
  readonly event_id: string;
  readonly session_id: string;
  readonly run_id: string;
  readonly agent: string;
  /** 0 for the top agent, one more for each delegation. */
  readonly depth: number;
  /** The step, from 1; 0 before the first. */
  readonly step: number;
  /** When, as RFC 3339. */
  readonly timestamp: string;
  readonly working_directory: string;
}

/** The call that a tool event is about. */
export interface Call {
  /** Pairs the events of one call. */
  readonly call_id: string;
  readonly tool: string;
  /** Other names of the tool. */
  readonly aliases: readonly string[];
  readonly args: Args;
  /** The model's own text, if its arguments were not a JSON object. */
  readonly malformed?: string;
  readonly time_limit?: Duration;
  /** The tools used before this call, the latest last. */
  readonly recent_tools: readonly string[];
}

/** What a model call is for: a step of the loop, or something that a capability needs. */
export type Purpose = "step" | { readonly capability: string };

/** How an answer of a model ended. */
export type AnswerEnd =
  | {
      readonly how: "finished";
      /** Why the model stopped, in the provider's word. */
      readonly reason?: string;
      /** The tools that the answer asks for, in order. */
      readonly calls?: readonly ToolCall[];
    }
  | { readonly how: "broken_off"; readonly error: string };

interface Compaction {
  readonly reason: string;
  readonly messages: number;
  readonly tokens: number;
  /** Instructions for shortening the conversation. */
  readonly instructions: string;
}

/** What the event of each point says, besides its head. */
interface Bodies {
  SessionStart: { readonly system_prompt: string; readonly model: ModelId; readonly resumed: boolean };
  PromptSubmit: {
    readonly prompt: string;
    readonly images?: readonly Image[];
    /** Additional messages for the model. */
    readonly context: readonly string[];
  };
  ExecutionStart: { readonly prompt: string; readonly limits: Limits };
  BeforeStep: {
    /** How many messages the conversation has. */
    readonly messages: number;
    /** What the session has cost so far. */
    readonly usage: Usage;
  };
  BeforeInference: ModelRequest & { readonly purpose: Purpose };
  InferenceDelta: {
    readonly model: ModelId;
    readonly channel: "text" | "reasoning" | "call";
    /** Which call it is a piece of, in the channel `call`. */
    readonly call?: { readonly index: number; readonly tool: string };
    readonly text: string;
    /** The character it follows on the screen. */
    readonly follows?: string;
    /** Whether its channel ends with it: what is held back now is never shown. */
    readonly last: boolean;
    /** How the answer ended, in the last piece of all. */
    readonly end?: AnswerEnd;
  };
  AfterInference: {
    readonly purpose: Purpose;
    readonly request: ModelRequest;
    readonly response: ModelResponse;
    readonly duration_ms: number;
  };
  BeforeToolUse: Call;
  PermissionRequest: Call & {
    readonly reason: string;
    /** Which hook asked. */
    readonly asked_by: string;
  };
  AfterToolUse: Call & {
    readonly result: ToolResult;
    /** The hook that blocked the call, if it was blocked. */
    readonly blocked_by?: string;
  };
  ToolUseFailed: Call & {
    readonly error: string;
    /** Whether the tool itself was reached. */
    readonly reached: boolean;
    readonly attempts: number;
    readonly duration_ms: number;
  };
  AfterStep: {
    readonly kind: StepKind;
    readonly text: string;
    readonly tools: readonly string[];
    readonly usage: Usage;
    readonly duration_ms: number;
  };
  ShouldContinue: {
    readonly kind: StepKind;
    readonly text: string;
    /** Why the run would end; empty if it would continue. */
    readonly stops: readonly Stopped[];
    /** How often hooks have made this run continue. */
    readonly continuations: number;
  };
  Output: {
    /** The final answer. */
    readonly text: string;
    /** Why the run ends. */
    readonly stop: Stopped;
  };
  OnError: {
    readonly class: ErrorClass;
    readonly message: string;
    readonly attempts: number;
    /** How long the provider asks us to wait. */
    readonly wait?: Duration;
  };
  ExecutionEnd: {
    readonly status: RunStatus;
    readonly stop: Stopped;
    readonly text: string;
    readonly steps: number;
    readonly usage: Usage;
    readonly duration_ms: number;
  };
  SessionEnd: {
    readonly usage: Usage;
    readonly total_tokens: number;
    readonly total_tool_calls: number;
    readonly runs: number;
    readonly steps: number;
    readonly duration_ms: number;
  };
  SubagentStart: {
    readonly subagent: string;
    readonly prompt: string;
    readonly limits: Limits;
    /** What its state holds from the start. */
    readonly metadata: Readonly<Record<string, Json>>;
  };
  SubagentStop: {
    readonly subagent: string;
    readonly status: RunStatus;
    readonly stop: Stopped;
    /** What the parent reads. */
    readonly text: string;
    readonly usage: Usage;
    readonly steps: number;
  };
  BeforeCompact: Compaction;
  AfterCompact: Compaction;
  Notification: { readonly kind: string; readonly message: string; readonly data?: Json };
}

/** The event of a point. */
export type EventAt<P extends PointName> = { [Q in P]: Head & { readonly point: Q } & Bodies[Q] }[P];
