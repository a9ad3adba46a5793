// One HTTP/2 connection to a server: opened when it is needed, pinged as long as it is there, and opened anew when it is
// gone. The library has one of its own, which sends its pings on after the connection was destroyed, and throws where
// nobody can catch it.

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";

/** What the library asks of a connection. */
type Manager = NonNullable<GrpcTransportOptions["sessionManager"]>;

/** How often a connection is asked whether it is alive, and how long it may take to say so, in milliseconds. */
export interface Keepalive {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

/** The connection of a client. */
export class Connection implements Manager {
  readonly authority: string;
  readonly #options: SecureClientSessionOptions;
  readonly #keepalive: Keepalive;
  /** The one that new requests go over, as soon as it is there. */
  #current: Promise<ClientHttp2Session> | undefined;
  /** All that are not closed: one that was told to go away finishes what is open on it. */
  readonly #open = new Set<ClientHttp2Session>();

  constructor(authority: string, options: SecureClientSessionOptions, keepalive: Keepalive) {
    this.authority = authority;
    this.#options = options;
    this.#keepalive = keepalive;
  }

  /** Sends a request. */
  async request(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    options: ClientSessionRequestOptions,
  ): Promise<ClientHttp2Stream> {
    for (;;) {
      this.#current ??= this.#connect();
      const current = this.#current;
      const session = await current;
      if (!session.closed && !session.destroyed) {
        return session.request({ ...headers, ":method": method, ":path": path }, options);
      }
      if (this.#current === current) this.#current = undefined;
    }
  }

  /** Pings are sent whether anything is read or not. */
  notifyResponseByteRead(): void {}

  /** Ends the connection and whatever is under way on it. */
  close(): void {
    for (const session of this.#open) session.destroy();
  }

  #connect(): Promise<ClientHttp2Session> {
    const session = connect(this.authority, this.#options);
    this.#open.add(session);
    const connected = new Promise<ClientHttp2Session>((resolve, reject) => {
      const gone = (): void => {
        if (this.#current === connected) this.#current = undefined;
      };
      // It is listened to for good: what goes wrong after the end is told to the streams that it is about, and to nobody else.
      session.on("error", (error) => {
        gone();
        reject(error);
      });
      session.on("goaway", () => {
        gone();
        session.close();
      });
      session.on("close", () => {
        gone();
        this.#open.delete(session);
        reject(new ConnectError("the connection was closed", Code.Unavailable));
      });
      session.on("connect", () => {
        keepAlive(session, this.#keepalive);
        resolve(session);
      });
    });
    return connected;
  }
}

/** Asks a connection again and again whether it is alive, and ends it when it does not say so. */
function keepAlive(session: ClientHttp2Session, { everyMs, timeoutMs }: Keepalive): void {
  const dead = new ConnectError(`the server did not answer a ping within ${timeoutMs} ms`, Code.Unavailable);
  let late: NodeJS.Timeout | undefined;
  const ping = setInterval(() => {
    if (late || session.destroyed) return;
    late = setTimeout(() => session.destroy(dead), timeoutMs);
    session.ping((error) => {
      clearTimeout(late);
      late = undefined;
      if (error) session.destroy(dead);
    });
  }, everyMs);
  session.once("close", () => {
    clearInterval(ping);
    clearTimeout(late);
  });
}
