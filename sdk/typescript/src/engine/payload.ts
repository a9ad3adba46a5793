// The events that handlers of an engine receive.

import type { Args } from "../points/data.js";
import type { HookEventType } from "./hook.js";

/** Before a tool is used. */
export interface PreToolUsePayload {
  session_id: string;
  /** The tool, by the name that people know: `Bash`, `Write`. */
  tool: string;
  args: Args;
  working_directory: string;
  /** The tools used before, the latest last. */
  recent_tools: string[];
}

/** After a tool was used. */
export interface PostToolUsePayload {
  session_id: string;
  tool: string;
  args: Args;
  result: {
    success: boolean;
    output: string;
    /** Of shell commands. */
    exit_code?: number;
    duration_ms: number;
  };
}

/** Before a model is asked. */
export interface GenerateStartPayload {
  session_id: string;
  /** The last thing that a person said. */
  prompt: string;
  system_prompt?: string;
  model_provider: string;
  model_name: string;
  available_tools: string[];
}

/** A tool call that a model asked for. */
export interface ToolCallInfo {
  id: string;
  tool: string;
  args: Args;
}

/** After a model has answered. */
export interface GenerateEndPayload {
  session_id: string;
  prompt: string;
  response_text: string;
  tool_calls: ToolCallInfo[];
  usage: {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
  };
  duration_ms: number;
}

/** When a session is opened. */
export interface SessionStartPayload {
  session_id: string;
  system_prompt?: string;
  model_provider: string;
  model_name: string;
}

/** When a session is closed. */
export interface SessionEndPayload {
  session_id: string;
  total_tokens: number;
  total_tool_calls: number;
  duration_ms: number;
}

/** The payload of each event type. */
export interface Payloads {
  pre_tool_use: PreToolUsePayload;
  post_tool_use: PostToolUsePayload;
  generate_start: GenerateStartPayload;
  generate_end: GenerateEndPayload;
  session_start: SessionStartPayload;
  session_end: SessionEndPayload;
}

/** All fields of all payloads. */
type AnyPayload = PreToolUsePayload &
  PostToolUsePayload &
  GenerateStartPayload &
  GenerateEndPayload &
  SessionStartPayload &
  SessionEndPayload;

/**
 * The event that a handler receives.
 *
 * A handler is registered by the name of its hook, from which the compiler cannot infer the event type. Name the type, as
 * in `HookEvent<"pre_tool_use">`; otherwise the compiler accepts the fields of every payload, and some are missing.
 */
export interface HookEvent<E extends HookEventType = HookEventType> {
  event_type: E;
  payload: HookEventType extends E ? AnyPayload : Payloads[E];
}

/** An event with exactly the payload of its type. */
export type FiredEvent = { [E in HookEventType]: { event_type: E; payload: Payloads[E] } }[HookEventType];
