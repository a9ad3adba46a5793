// The points of an agent's life: what a hook may answer at each, and what it may change. Checked against the runtime's own
// table in `test/unit/points.test.ts`.

/** The word of a verdict. Besides these, `proceed` and `skip` can be said everywhere. */
export type VerdictWord =
  | "allow"
  | "ask"
  | "deny"
  | "replace"
  | "recover"
  | "retry"
  | "hold"
  | "stop"
  | "go_on"
  | "halt";

interface Row {
  /** The possible verdicts, in addition to `proceed` and `skip`. */
  readonly verdicts: readonly VerdictWord[];
  /** Whether a guard can stand here. */
  readonly guard: boolean;
  /** What an answer may change: the arguments of a call, or these fields of the event. */
  readonly change: "args" | readonly string[];
}

/** Every point, in the order of an agent's life. */
export const POINTS = {
  SessionStart: { verdicts: [], guard: false, change: ["system_prompt"] },
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
  OnError: { verdicts: ["recover", "stop"], guard: true, change: [] },
  ExecutionEnd: { verdicts: [], guard: false, change: [] },
  SessionEnd: { verdicts: [], guard: false, change: [] },
  SubagentStart: { verdicts: ["deny"], guard: true, change: ["prompt", "limits"] },
  SubagentStop: { verdicts: ["go_on"], guard: false, change: ["text"] },
  BeforeCompact: { verdicts: ["deny"], guard: true, change: ["instructions"] },
  AfterCompact: { verdicts: [], guard: false, change: [] },
  Notification: { verdicts: [], guard: false, change: [] },
} as const satisfies Record<string, Row>;

/** The name of a point. */
export type PointName = keyof typeof POINTS;

/** The row of a point, without its literal types: for checks at run time. */
export function rowOf(point: PointName): Row {
  return POINTS[point];
}

/** A point where a guard can stand. */
export type GuardPoint = { [P in PointName]: (typeof POINTS)[P]["guard"] extends true ? P : never }[PointName];
