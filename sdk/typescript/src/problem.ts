// Problems in the background, which no call reports.

/** What went wrong: for a log, or for a test that wants to know. */
export interface Problem {
  /**
   * `lost`: the connection is gone, and is being taken up again. `left`: it will not be. `draining`: the server goes
   * down. `refused`: the server does not take a hook (any more), which is not in force. `failed`: a handler threw, or its
   * answer could not be used; its failure policy speaks. `unhandled`: a hook has no handler, and so no effect.
   */
  readonly kind: "lost" | "left" | "draining" | "refused" | "failed" | "unhandled";
  readonly message: string;
  /** The hook, if it is about one. */
  readonly hook?: string;
  readonly cause?: unknown;
}

/** A callback for problems. */
export type Report = (problem: Problem) => void;

/** Tells people, through Node's own warnings. */
export const warn: Report = ({ kind, message }) => {
  process.emitWarning(message, { type: "VertebraWarning", code: kind });
};
