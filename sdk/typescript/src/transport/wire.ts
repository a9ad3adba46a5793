// The connection to a server: one HTTP/2 connection, kept alive, that all calls share.

import { type Client as Caller, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Approvals } from "../gen/vertebra/v1/approvals_pb.js";
import { Hooks } from "../gen/vertebra/v1/hooks_pb.js";
import { Records } from "../gen/vertebra/v1/records_pb.js";
import { Sessions } from "../gen/vertebra/v1/sessions_pb.js";
import { place, type TlsOptions } from "./address.js";
import { Connection } from "./connection.js";

/** How a server is reached. */
export interface WireOptions {
  /** Who we are, over TCP. A Unix socket needs none. */
  readonly token?: string;
  /** For `https://` and `tcp://`. With `cert` and `key` it is mutual. */
  readonly tls?: TlsOptions;
  /** How often a connection is asked whether it is alive, also while nothing happens. 10 s unless told otherwise. */
  readonly keepaliveMs?: number;
  /** How long it may take to say so. 5 s unless told otherwise. */
  readonly keepaliveTimeoutMs?: number;
}

/** The services of a server. */
export interface Wire {
  readonly sessions: Caller<typeof Sessions>;
  readonly hooks: Caller<typeof Hooks>;
  readonly approvals: Caller<typeof Approvals>;
  readonly records: Caller<typeof Records>;
  /** Ends the connection and whatever is under way on it. */
  close(): void;
}

/** How large a message of the server may be: an event may carry a whole conversation. */
const LARGEST = 256 << 20;

/** A line to a server. Nothing is sent before the first call. */
export function wire(address: string, options: WireOptions): Wire {
  const keepalive = { everyMs: options.keepaliveMs ?? 10_000, timeoutMs: options.keepaliveTimeoutMs ?? 5_000 };
  const connection = new Connection(place(address, options.tls), keepalive);
  const interceptors = options.token === undefined ? [] : [bearing(options.token)];
  const transport = createGrpcTransport({
    baseUrl: connection.authority,
    sessionManager: connection,
    interceptors,
    readMaxBytes: LARGEST,
  });
  return {
    sessions: createClient(Sessions, transport),
    hooks: createClient(Hooks, transport),
    approvals: createClient(Approvals, transport),
    records: createClient(Records, transport),
    close: () => connection.close(),
  };
}

/** Says in every call who we are. */
function bearing(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}
