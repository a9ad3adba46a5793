// Questions that people answer.

import type { JsonObject } from "@bufbuild/protobuf";
import { told } from "./errors.js";
import type {
  AnswerApprovalRequest,
  Approval as WireApproval,
  ApprovalEvent as WireEvent,
} from "./gen/vertebra/v1/approvals_pb.js";
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
      /** `gone`: nobody waits any more. */
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
   * Those that wait, then each as it is put and as it is settled. After a lost connection it goes on; what was settled
   * meanwhile is not told.
   */
  async *watch(sessionId = ""): AsyncGenerator<ApprovalEvent, void, undefined> {
    const told = new Set<string>();
    const open = (): AsyncIterable<WireEvent> => this.#wire.approvals.watch({ sessionId }, { signal: this.#over });
    for await (const { event } of unbroken(open, this.#over)) {
      if (event.case === undefined) continue;
      const key = `${event.value.sessionId} ${event.value.callId}`;
      if (event.case === "asked") {
        // A stream begins with all that wait, those that were told before among them.
        if (!told.has(key)) yield { event: "asked", approval: read(event.value) };
        told.add(key);
      } else {
        told.delete(key);
        const { sessionId, callId, decision } = event.value;
        yield { event: "settled", sessionId, callId, decision: decision as Settled };
      }
    }
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

function read(approval: WireApproval): Approval {
  const { sessionId, runId, callId, agent, tool, digest, reason, askedBy, suspended } = approval;
  const args = JSON.parse(approval.argsJson || "{}") as Args;
  return { sessionId, runId, callId, agent, tool, args, digest, reason, askedBy, suspended };
}
