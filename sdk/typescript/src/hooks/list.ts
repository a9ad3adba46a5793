// The hooks in force.

import { told } from "../errors.js";
import { Role as WireRole } from "../gen/vertebra/v1/hooks_pb.js";
import type { Role } from "../points/answer.js";
import type { Wire } from "../transport/wire.js";

/** A hook as the server lists it. */
export interface HookInfo {
  readonly name: string;
  readonly point: string;
  readonly role: Role | "unspecified";
  readonly priority: number;
  /** The client that answers for it; empty if it is the server's own. */
  readonly clientId: string;
  readonly enabled: boolean;
}

const ROLES: Readonly<Record<WireRole, HookInfo["role"]>> = {
  [WireRole.UNSPECIFIED]: "unspecified",
  [WireRole.HOOK]: "hook",
  [WireRole.GUARD]: "guard",
  [WireRole.WATCH]: "watch",
};

/** The hooks in force in a session, or those of the caller's clients, in the order they run. */
export async function listHooks(wire: Wire, sessionId: string): Promise<readonly HookInfo[]> {
  const { hooks } = await told(wire.hooks.list({ sessionId }));
  return hooks.map(({ name, point, role, priority, clientId, enabled }) => {
    return { name, point, role: ROLES[role], priority, clientId, enabled };
  });
}
