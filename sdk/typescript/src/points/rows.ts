// The points of an agent's life. Generated from the runtime's table of points; do not edit.

/** Every point, in the order of an agent's life. */
export const ROWS = {
  SessionStart: { verdicts: ["deny"], guard: true, change: ["system_prompt"] },
  PromptSubmit: { verdicts: ["deny"], guard: true, change: ["prompt", "context"] },
  ExecutionStart: { verdicts: ["stop"], guard: true, change: [] },
  BeforeStep: { verdicts: ["stop"], guard: true, change: [] },
  BeforeInference: {
    verdicts: ["deny", "replace", "retry", "stop"],
    guard: true,
    change: ["model", "system_prompt", "messages", "tools", "max_output_tokens", "temperature", "options"],
  },
  InferenceDelta: { verdicts: ["hold", "halt"], guard: true, change: ["text"] },
  AfterInference: { verdicts: ["retry", "stop"], guard: true, change: ["response"] },
  BeforeToolUse: { verdicts: ["allow", "ask", "deny", "replace", "retry", "stop"], guard: true, change: "args" },
  PermissionRequest: { verdicts: ["allow", "deny"], guard: true, change: [] },
  AfterToolUse: { verdicts: ["retry", "stop"], guard: true, change: ["result"] },
  ToolUseFailed: { verdicts: ["recover", "retry", "stop"], guard: true, change: [] },
  AfterStep: { verdicts: ["stop", "go_on"], guard: true, change: [] },
  ShouldContinue: { verdicts: ["stop", "go_on"], guard: true, change: [] },
  Output: { verdicts: ["deny"], guard: true, change: ["text"] },
  OnError: { verdicts: ["recover", "stop"], guard: true, change: [] },
  ExecutionEnd: { verdicts: [], guard: false, change: [] },
  SessionEnd: { verdicts: [], guard: false, change: [] },
  SubagentStart: { verdicts: ["deny"], guard: true, change: ["prompt", "limits"] },
  SubagentStop: { verdicts: ["go_on"], guard: false, change: ["text"] },
  BeforeCompact: { verdicts: ["deny"], guard: true, change: ["instructions"] },
  AfterCompact: { verdicts: [], guard: false, change: [] },
  Notification: { verdicts: [], guard: false, change: [] },
} as const;

/** Names that other agents have for our points. */
export const ALIASES = {
  UserPromptSubmit: "PromptSubmit",
  InputSubmitted: "PromptSubmit",
  StepStart: "BeforeStep",
  GenerateStart: "BeforeInference",
  GenerateEnd: "AfterInference",
  PreToolUse: "BeforeToolUse",
  PostToolUse: "AfterToolUse",
  PostToolUseFailure: "ToolUseFailed",
  StepEnd: "AfterStep",
  Stop: "ShouldContinue",
  AgentFailed: "OnError",
  PreCompact: "BeforeCompact",
  PostCompact: "AfterCompact",
} as const;
