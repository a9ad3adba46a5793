// An engine's handlers, as the compiler reads them. Read by `tsc`, never run.

import { Hook, HookEngine, HookEventType, HookMatcher, HookResponse } from "../../src/index.js";

const engine = new HookEngine();

engine.register(Hook.new("a", HookEventType.PreToolUse).with_matcher(HookMatcher.tool("Bash").with_session("s")));
engine.register(Hook.new("a", HookEventType.PreToolUse).with_matcher({ tool: "Bash" }).with_config({ priority: 1 }));
engine.register({ id: "b", event_type: "pre_tool_use", matcher: { path_pattern: "*.rs" }, config: { priority: 10 } });
// @ts-expect-error: there is no such event type
engine.register({ id: "b", event_type: "pre_tool" });
// @ts-expect-error: there is no such option
engine.register({ id: "b", event_type: "pre_tool_use", config: { prio: 1 } });
// @ts-expect-error: a matcher has a `path_pattern`
engine.register({ id: "b", event_type: "pre_tool_use", matcher: { path: "*.rs" } });

// Without a type every payload's fields can be read, at once or later.
engine.register_handler("a", {
  handle: (event) => {
    const { tool, args, result, usage, prompt, session_id } = event.payload;
    const text: string = `${tool} ${args.file_path.length} ${result.success} ${usage.total_tokens} ${prompt} ${session_id}`;
    return { action: "Block", reason: text };
  },
});
engine.register_handler("a", { handle: async () => HookResponse.continue_() });

// With a type only its own.
engine.register_handler<"session_end">("a", {
  handle: ({ payload }) => (payload.total_tokens > 5 ? HookResponse.skip() : HookResponse.continue_()),
});
engine.register_handler<"session_end">("a", {
  // @ts-expect-error: a session's end has no tool
  handle: ({ payload }) => HookResponse.block(payload.tool),
});

// @ts-expect-error: there is no such action
engine.register_handler("a", { handle: () => ({ action: "Deny" }) });
// @ts-expect-error: a handler answers
engine.register_handler("a", { handle: () => undefined });

export const fired = engine.fire({
  event_type: "session_start",
  payload: { session_id: "s", model_provider: "p", model_name: "m" },
});
// @ts-expect-error: this is no payload of that type
export const wrong = engine.fire({ event_type: "session_end", payload: { session_id: "s" } });
