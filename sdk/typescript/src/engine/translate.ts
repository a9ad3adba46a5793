// Between the runtime's events and answers and those of an engine.

import type { Args, Message, ModelRequest, ToolCall } from "../points/data.js";
import type { EventAt } from "../points/events.js";
import type { HookEventType } from "./hook.js";
import { ownArgs, ownTool, shownArgs, shownTool } from "./names.js";
import type { FiredEvent, Payloads, ToolCallInfo } from "./payload.js";
import type { HookResponse } from "./response.js";
import { type Change, changeOf, honoured, type POINT_OF, refusal } from "./takes.js";

/** The runtime's event that is translated to one of an engine. */
export type Own = EventAt<(typeof POINT_OF)[HookEventType]>;

/** An event of the runtime, as a handler of an engine is given it. */
export function told(event: Own): FiredEvent {
  switch (event.point) {
    case "BeforeToolUse":
      return { event_type: "pre_tool_use", payload: preToolUse(event) };
    case "AfterToolUse":
      return { event_type: "post_tool_use", payload: postToolUse(event) };
    case "BeforeInference":
      return { event_type: "generate_start", payload: generateStart(event) };
    case "AfterInference":
      return { event_type: "generate_end", payload: generateEnd(event) };
    case "SessionStart":
      return { event_type: "session_start", payload: sessionStart(event) };
    case "SessionEnd": {
      const { session_id, total_tokens, total_tool_calls, duration_ms } = event;
      return { event_type: "session_end", payload: { session_id, total_tokens, total_tool_calls, duration_ms } };
    }
  }
}

function preToolUse({
  session_id,
  tool,
  args,
  working_directory,
  recent_tools,
}: EventAt<"BeforeToolUse">): Payloads["pre_tool_use"] {
  return {
    session_id,
    tool: shownTool(tool),
    args: shownArgs(tool, args, working_directory),
    working_directory,
    recent_tools: recent_tools.map(shownTool),
  };
}

function postToolUse({
  session_id,
  tool,
  args,
  working_directory,
  result,
}: EventAt<"AfterToolUse">): Payloads["post_tool_use"] {
  const { success, output, exit_code, duration_ms } = result;
  return {
    session_id,
    tool: shownTool(tool),
    args: shownArgs(tool, args, working_directory),
    result: { success, output, ...(exit_code === undefined ? {} : { exit_code }), duration_ms },
  };
}

function generateStart(event: EventAt<"BeforeInference">): Payloads["generate_start"] {
  return {
    session_id: event.session_id,
    prompt: promptOf(event),
    system_prompt: event.system_prompt,
    model_provider: event.model.provider,
    model_name: event.model.name,
    available_tools: event.tools.map(({ name }) => shownTool(name)),
  };
}

function generateEnd({
  session_id,
  request,
  response,
  duration_ms,
  working_directory,
}: EventAt<"AfterInference">): Payloads["generate_end"] {
  const { input_tokens, output_tokens } = response.usage;
  return {
    session_id,
    prompt: promptOf(request),
    response_text: response.text,
    tool_calls: response.calls.map(({ id, tool, args }) => {
      return { id, tool: shownTool(tool), args: shownArgs(tool, args, working_directory) };
    }),
    usage: {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens: input_tokens + output_tokens,
    },
    duration_ms,
  };
}

function sessionStart({ session_id, system_prompt, model }: EventAt<"SessionStart">): Payloads["session_start"] {
  return { session_id, system_prompt, model_provider: model.provider, model_name: model.name };
}

/** The place of the last thing that a person said. */
const lastSaid = ({ messages }: ModelRequest): number => messages.findLastIndex(({ role }) => role === "user");

function promptOf(request: ModelRequest): string {
  const said = request.messages[lastSaid(request)];
  return said?.role === "user" ? said.text : "";
}

/** What a handler answered, in the runtime's words. What the event cannot take is an error. */
export function answerOf(event: Own, response: HookResponse, hook: string): Args {
  const type = told(event).event_type;
  const { action, reason = `\`${hook}\` blocked it`, retry_delay_ms, modified } = honoured(type, response);
  switch (action) {
    case "Continue":
      return modified === undefined ? {} : { modified: change(event, changeOf(type, modified)) };
    case "Skip":
      return { verdict: "skip" };
    case "Retry":
      return { verdict: "retry", after_ms: retry_delay_ms };
    case "Block":
      return { verdict: refusal(type), reason };
  }
}

/** A change, as the runtime's point takes it. */
function change(event: Own, change: Change): Args {
  if (event.point === "BeforeToolUse" && change.of === "pre_tool_use") {
    return ownArgs(event.tool, change.args, event.args, event.working_directory);
  }
  if (event.point === "AfterToolUse" && change.of === "post_tool_use") {
    return { result: { ...event.result, ...change.fields } };
  }
  if (event.point === "BeforeInference" && change.of === "generate_start") return request(event, change.fields);
  if (event.point === "AfterInference" && change.of === "generate_end") {
    const { response_text, tool_calls } = change.fields;
    const text = response_text === undefined ? {} : { text: response_text };
    const calls = tool_calls === undefined ? {} : { calls: tool_calls.map((call) => ownCall(event, call)) };
    return { response: { ...event.response, ...text, ...calls } };
  }
  return { system_prompt: (change as Extract<Change, { of: "session_start" }>).fields.system_prompt };
}

function request(event: EventAt<"BeforeInference">, fields: Partial<Payloads["generate_start"]>): Args {
  const { prompt, system_prompt, model_provider, model_name, available_tools } = fields;
  const change: Args = {};
  if (system_prompt !== undefined) change.system_prompt = system_prompt;
  if (model_provider !== undefined || model_name !== undefined) {
    change.model = { provider: model_provider ?? event.model.provider, name: model_name ?? event.model.name };
  }
  if (prompt !== undefined) change.messages = prompted(event, prompt);
  if (available_tools !== undefined) {
    const names = available_tools.map(ownTool);
    const missing = names.find((name) => !event.tools.some((offer) => offer.name === name));
    if (missing !== undefined) throw new TypeError(`\`${missing}\` is not among the tools that could be offered`);
    change.tools = event.tools.filter(({ name }) => names.includes(name));
  }
  return change;
}

/** The conversation with another prompt in place of the last thing that a person said. */
function prompted(event: EventAt<"BeforeInference">, prompt: string): readonly Message[] {
  const said = lastSaid(event);
  if (said < 0) return [...event.messages, { role: "user", text: prompt }];
  return event.messages.map((message, place) => (place === said ? { ...message, text: prompt } : message)) as Message[];
}

function ownCall({ response, working_directory }: EventAt<"AfterInference">, call: ToolCallInfo): ToolCall {
  const tool = ownTool(call.tool);
  const before = response.calls.find(({ id }) => id === call.id)?.args ?? {};
  return { id: call.id, tool, args: ownArgs(tool, call.args, before, working_directory) };
}
