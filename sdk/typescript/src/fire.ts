// Trying an event on the hooks in force.

import type { Json } from "./points/data.js";
import type { EventAt } from "./points/events.js";
import type { AnyPointName, PointOf } from "./points/names.js";
import type { DispatchRecord } from "./sessions/news.js";

/** An event to try. What is left out has its usual value; `point` has to be there. */
export type Trial = {
  [N in AnyPointName]: { readonly point: N } & Partial<Omit<EventAt<PointOf<N>>, "point">>;
}[AnyPointName];

/** What came of an event. */
export interface Judgement {
  /** The decision; `null` means no opinion. */
  readonly decision: "allow" | "ask" | "block" | "deny" | null;
  readonly reason: string | null;
  /** Who decided. */
  readonly decided_by: string | null;
  /** The changed arguments of the call, if hooks changed them. */
  readonly tool_input: Json;
  /** Additional messages for the model. */
  readonly model_context: readonly string[];
  readonly model_sees: string | null;
  readonly user_sees: string | null;
  /** Whether the agent continues at all. */
  readonly continue: boolean;
  /** What went wrong without deciding anything. */
  readonly warnings: readonly string[];
  /** Everything outside that was started, in order. */
  readonly ran: readonly Json[];
  /** What else comes of it, by name. */
  readonly effects?: Readonly<Record<string, Json>>;
}

/** What came of an event, and who said what. */
export interface Fired {
  readonly judgement: Judgement;
  readonly record: DispatchRecord;
}
