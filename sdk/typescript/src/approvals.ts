// Questions that people answer.

import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@bufbuild/protobuf";
import { told, VertebraError } from "./errors.js";
import type { AnswerApprovalRequest, Approval as WireApproval } from "./gen/vertebra/v1/approvals_pb.js";
import type { Args } from "./points/data.js";
import { unbroken } from "./transport/again.js";
import type { Wire } from "./transport/wire.js";

/** A question about a call. */
export interface Approval {
  readonly sessionId: string;
  readonly runId: string;
  readonly callId: string;
  readonly agent: string;
  readonly tool: string;
  /** The exact arguments that would be used. */
  readonly args: Args;
  /** Their fingerprint. A yes holds for them and for nothing else. */
  readonly digest: string;
  readonly reason: string;
  /** The hook that asked. */
  readonly askedBy: string;
  /** Whether the run waits in the journal, and not in the server. */
  readonly suspended: boolean;
  /** What the call would change, as a unified diff in which secrets are hidden. Empty if its tool does not say. */
  readonly preview: string;
}

/** An answer to a question: yes to exactly what was shown, no and why, yes with other arguments, or not now. */
export type Decision = "approve" | { readonly deny: string } | { readonly edit: Args } | "later";

/** A question was put, or is settled. */
export type ApprovalEvent =
  | { readonly event: "asked"; readonly approval: Approval }
  | {
      readonly event: "settled";
      readonly sessionId: string;
      readonly callId: string;
      /** `gone`: the question was settled or withdrawn. */
      readonly decision: "approve" | "deny" | "edit" | "later" | "gone";
    };

type Settled = Extract<ApprovalEvent, { event: "settled" }>["decision"];

/** The questions of a server. */
export class Approvals {
  readonly #wire: Wire;
  readonly #over: AbortSignal;

  /** @internal */
  constructor(wire: Wire, over: AbortSignal) {
    this.#wire = wire;
    this.#over = over;
  }

  /** The questions that wait, of one session or of all that the client may see. */
  async list(sessionId = ""): Promise<readonly Approval[]> {
    const { approvals } = await told(this.#wire.approvals.list({ sessionId }));
    return approvals.map(read);
  }

  /**
   * Yields the waiting questions, then each new question and each answer, until the client is closed. After a lost
   * connection it resumes, however long that takes, with the questions asked meanwhile and with `gone` for those that
   * were settled. A question is yielded again only if it changed, such as from the journal to the server.
   */
  watch(sessionId = ""): AsyncGenerator<ApprovalEvent, void, undefined> {
    const told = new Map<string, Approval>();
    return unbroken(() => this.#news(sessionId, told), this.#over, Number.POSITIVE_INFINITY);
  }

  /** Yields what one stream reports for the first time. */
  async *#news(sessionId: string, told: Map<string, Approval>): AsyncGenerator<ApprovalEvent, void, undefined> {
    // Listed before the stream is opened, so that the stream reports questions asked in between.
    const waiting = told.size === 0 ? [] : await this.list(sessionId);
    const open = new Set(waiting.map(keyOf));
    for (const [key, { sessionId, callId }] of told) {
      if (open.has(key)) continue;
      told.delete(key);
      yield { event: "settled", sessionId, callId, decision: "gone" };
    }
    for await (const { event } of this.#wire.approvals.watch({ sessionId }, { signal: this.#over })) {
      if (event.case === "asked") {
        const approval = read(event.value);
        const before = told.get(keyOf(approval));
        told.set(keyOf(approval), approval);
        // A stream starts with all waiting questions, including those reported before.
        if (!isDeepStrictEqual(before, approval)) yield { event: "asked", approval };
      } else if (event.case === "settled" && told.delete(keyOf(event.value))) {
        const { sessionId, callId, decision } = event.value;
        yield { event: "settled", sessionId, callId, decision: decision as Settled };
      }
    }
    throw new VertebraError("unavailable", "the server ended the stream");
  }

  /**
   * Answers a question. The first answer counts.
   *
   * @returns whether a run in the server took it; if not, it waits in the journal for the run to be resumed.
   */
  async answer(approval: Pick<Approval, "sessionId" | "callId" | "digest">, decision: Decision): Promise<boolean> {
    const { sessionId, callId, digest } = approval;
    const { taken } = await told(
      this.#wire.approvals.answer({ sessionId, callId, decision: wireDecision(decision, digest) }),
    );
    return taken;
  }
}

function wireDecision(
  decision: Decision,
  digest: string,
): AnswerApprovalRequest["decision"] | { case: "later"; value: Record<never, never> } {
  if (decision === "approve") return { case: "approveDigest", value: digest };
  if (decision === "later") return { case: "later", value: {} };
  if ("deny" in decision) return { case: "denyReason", value: decision.deny };
  return { case: "editArgs", value: decision.edit as JsonObject };
}

/** What a question is known by. */
function keyOf({ sessionId, callId }: Pick<Approval, "sessionId" | "callId">): string {
  return `${sessionId} ${callId}`;
}

function read(approval: WireApproval): Approval {
  const { sessionId, runId, callId, agent, tool, digest, reason, askedBy, suspended, preview } = approval;
  const args = JSON.parse(approval.argsJson || "{}") as Args;
  return { sessionId, runId, callId, agent, tool, args, digest, reason, askedBy, suspended, preview };
}
