// The things that events are made of, exactly as they cross the wire.

/** Anything that JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The arguments of a tool call. What they are is up to the tool. */
// biome-ignore lint/suspicious/noExplicitAny: the reader of an argument knows its tool, and the compiler does not.
export type Args = Record<string, any>;

/** A stretch of time on the wire. */
export interface Duration {
  readonly secs: number;
  readonly nanos: number;
}

/** Which model, and whose. */
export interface ModelId {
  readonly provider: string;
  readonly name: string;
}

/** What model calls cost. */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of the tokens read, those that came from the provider's cache. */
  readonly cache_read_tokens: number;
  /** Of the tokens read, those that were written to it. */
  readonly cache_write_tokens: number;
  /** Money, in millionths of a dollar. */
  readonly cost_micros: number;
}

/** What a run may use; `null` is without limit. */
export interface Limits {
  readonly steps: number | null;
  readonly tokens: number | null;
  readonly time: Duration | null;
  readonly cost_micros: number | null;
  readonly deadline: string | null;
}

/** How a tool call ended. */
export type ToolStatus = "done" | "failed" | "blocked" | "not_run" | "cancelled" | "unknown";

/** What came of a tool call. */
export interface ToolResult {
  readonly status: ToolStatus;
  /** Whether it did what it was asked. */
  readonly success: boolean;
  /** What the model reads. */
  readonly output: string;
  /** The exit code, if it ran a program. */
  readonly exit_code?: number;
  readonly duration_ms: number;
  /** Data that the model does not read. */
  readonly data?: Json;
}

/** A tool call that a model asked for. */
export interface ToolCall {
  readonly id: string;
  readonly tool: string;
  readonly args: Args;
  /** The model's own text, if it is not a JSON object. */
  readonly malformed?: string;
}

/** A picture, as providers take it. */
export interface Image {
  readonly media_type: string;
  /** Its bytes in Base64. */
  readonly data: string;
}

/** One message of a conversation. */
export type Message =
  | { readonly role: "user"; readonly text: string; readonly images?: readonly Image[] }
  | { readonly role: "instruction"; readonly text: string; readonly from: string }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly reasoning?: string;
      readonly calls?: readonly ToolCall[];
      readonly carry?: Json;
    }
  | { readonly role: "tool"; readonly call_id: string; readonly tool: string; readonly result: ToolResult };

/** A tool as a model sees it. */
export interface Offer {
  readonly name: string;
  readonly description: string;
  /** The JSON schema of its arguments. */
  readonly schema: Json;
}

/** What a model is asked. */
export interface ModelRequest {
  readonly model: ModelId;
  readonly system_prompt: string;
  readonly messages: readonly Message[];
  readonly tools: readonly Offer[];
  readonly max_output_tokens?: number;
  readonly temperature?: number;
  readonly options?: Json;
}

/** What a model answered. */
export interface ModelResponse {
  readonly text: string;
  readonly reasoning?: string;
  readonly calls: readonly ToolCall[];
  readonly usage: Usage;
  /** Why it stopped, in the provider's word. */
  readonly finish?: string;
  readonly carry?: Json;
  readonly request_id?: string;
}

/** Why a run ends. */
export type StopReason =
  | "finished"
  | "retries"
  | "cost"
  | "deadline"
  | "time"
  | "tokens"
  | "steps"
  | "requested"
  | "suspended"
  | "cancelled"
  | "error";

/** A request to end the run. */
export interface Stopped {
  readonly reason: StopReason;
  /** Why, in words. */
  readonly message: string;
  /** Who asked for it: a hook's name, a limit, the model. */
  readonly source: string;
  readonly context?: Json;
  /** Whether it stands even against a hook that says `go_on`. */
  readonly hard: boolean;
}

/** How a run went. */
export type RunStatus = "completed" | "stopped" | "cancelled" | "failed" | "suspended";

/** What a step did. */
export type StepKind = "tool_execution" | "final_response" | "no_response";

/** What kind of failure it was, outside a tool. */
export type ErrorClass =
  | "model_busy"
  | "model_rejected"
  | "too_long"
  | "unauthorised"
  | "network"
  | "broken"
  | "journal"
  | "internal";
