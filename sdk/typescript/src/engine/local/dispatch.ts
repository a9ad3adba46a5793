// Dispatches an event to the hooks of an engine in this process: the same order and laws as on a server.

import type { Args } from "../../points/data.js";
import { rowOf } from "../../points/table.js";
import type { Hook } from "../hook.js";
import type { FiredEvent } from "../payload.js";
import { checked, type HookAction, type HookResponse } from "../response.js";
import { changed, changeOf, honoured, POINT_OF } from "../takes.js";
import { holds } from "./matching.js";

/** What became of a hook that matched. */
export interface HookTrace {
  readonly hook: string;
  /**
   * `answered`, `failed` (it threw, took too long, or answered what cannot be), `skipped` (an earlier one ended it),
   * `detached` (its answer is ignored), or `unhandled` (it has no handler).
   */
  readonly ran: "answered" | "failed" | "skipped" | "detached" | "unhandled";
  /** The hook's action; for a failed hook, the action that its failure resulted in. */
  readonly action?: HookAction;
  readonly reason?: string;
  /** How often it was asked. */
  readonly attempts?: number;
}

/** What came of an event. */
export interface HookResult {
  /** What is to be done: the strongest of what was asked for, the first among equals. */
  readonly action: HookAction;
  readonly reason?: string;
  readonly retry_delay_ms?: number;
  /** What changed, in the words of the payload: before a tool, the arguments. */
  readonly modified?: Args;
  /** The hook that decided; `null` if none did. */
  readonly decided_by: string | null;
  /** The event as hooks left it. */
  readonly event: FiredEvent;
  /** Who ran, in order. */
  readonly hooks: readonly HookTrace[];
}

/** A hook and what answers for it. */
export interface Handled {
  readonly hook: Hook;
  readonly handle: ((event: FiredEvent) => unknown) | undefined;
}

/** Later ones are stronger. */
const STRENGTH: readonly HookAction[] = ["Continue", "Skip", "Retry", "Block"];

interface Verdict {
  readonly by: string;
  readonly response: HookResponse;
}

/** Dispatches an event: hooks one after another, then the detached ones. */
export async function dispatch(
  all: readonly Handled[],
  fired: FiredEvent,
  lost: (hook: string, error: unknown) => void,
): Promise<HookResult> {
  const here = all.filter(({ hook }) => hook.event_type === fired.event_type);
  const ordered = here.toSorted((one, other) => one.hook.config.priority - other.hook.config.priority);
  const traces: HookTrace[] = [];
  const verdicts: Verdict[] = [];
  let event = fired;
  let modified: Args | undefined;
  let endedBy: string | undefined;
  for (const handled of ordered.filter(({ hook }) => !hook.config.async_execution)) {
    const { id, matcher } = handled.hook;
    if (!holds(matcher, event)) continue;
    if (endedBy !== undefined) {
      traces.push({ hook: id, ran: "skipped", reason: `\`${endedBy}\` ended it` });
      continue;
    }
    const { trace, response } = await ask(handled, event);
    traces.push(trace);
    if (response.modified !== undefined) {
      event = changed(event, changeOf(event.event_type, response.modified));
      modified = event.event_type === "pre_tool_use" ? response.modified : { ...modified, ...response.modified };
    }
    if (response.action !== "Continue") verdicts.push({ by: id, response });
    if (endsPhase(event, response)) endedBy = id;
  }
  for (const { hook, handle } of ordered.filter(({ hook }) => hook.config.async_execution)) {
    if (!holds(hook.matcher, event)) continue;
    traces.push({ hook: hook.id, ran: handle ? "detached" : "unhandled" });
    if (handle) void behind(handle, event).catch((error: unknown) => lost(hook.id, error));
  }
  return { ...decided(verdicts), ...(modified === undefined ? {} : { modified }), event, hooks: traces };
}

/** Asks one hook, again if it fails and may be asked again. */
async function ask(
  { hook, handle }: Handled,
  event: FiredEvent,
): Promise<{ trace: HookTrace; response: HookResponse }> {
  if (!handle) return { trace: { hook: hook.id, ran: "unhandled" }, response: { action: "Continue" } };
  for (let attempts = 1; ; attempts += 1) {
    try {
      const response = honoured(event.event_type, checked(await within(hook.config.timeout_ms, handle, event)));
      const { action, reason } = response;
      const trace = {
        hook: hook.id,
        ran: "answered",
        action,
        attempts,
        ...(reason === undefined ? {} : { reason }),
      } as const;
      return { trace, response };
    } catch (error) {
      if (attempts <= hook.config.max_retries) continue;
      const reason = `\`${hook.id}\` failed: ${error instanceof Error ? error.message : String(error)}`;
      const response: HookResponse = canDeny(event) ? { action: "Block", reason } : { action: "Continue" };
      return { trace: { hook: hook.id, ran: "failed", action: response.action, reason, attempts }, response };
    }
  }
}

const canDeny = (event: FiredEvent): boolean => rowOf(POINT_OF[event.event_type]).verdicts.includes("deny");

/** Skipping, retrying and denying end it. Where it is too late to deny, the run is stopped, and the others still run. */
function endsPhase(event: FiredEvent, { action }: HookResponse): boolean {
  return action === "Skip" || action === "Retry" || (action === "Block" && canDeny(event));
}

function decided(
  verdicts: readonly Verdict[],
): Pick<HookResult, "action" | "reason" | "retry_delay_ms" | "decided_by"> {
  const [strongest] = verdicts.toSorted(
    (a, b) => STRENGTH.indexOf(b.response.action) - STRENGTH.indexOf(a.response.action),
  );
  if (!strongest) return { action: "Continue", decided_by: null };
  const { action, reason, retry_delay_ms } = strongest.response;
  return {
    action,
    ...(reason === undefined ? {} : { reason }),
    ...(retry_delay_ms === undefined ? {} : { retry_delay_ms }),
    decided_by: strongest.by,
  };
}

/** What the handler answers, if it does in time. Each attempt has a copy of the event: no trace of a failure is left. */
async function within(ms: number, handle: (event: FiredEvent) => unknown, event: FiredEvent): Promise<unknown> {
  let clock: NodeJS.Timeout | undefined;
  const late = new Promise((_, reject) => {
    clock = setTimeout(() => reject(new Error(`it gave no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([behind(handle, event), late]);
  } finally {
    clearTimeout(clock);
  }
}

async function behind(handle: (event: FiredEvent) => unknown, event: FiredEvent): Promise<unknown> {
  return await handle(structuredClone(event));
}
