// One HTTP/2 connection to a server: opened when it is needed, pinged while it is open, and opened again when it is lost.
// The library's own connection manager keeps sending pings after the connection was destroyed, and throws where no caller
// can catch the error.

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GrpcTransportOptions } from "@connectrpc/connect-node";
import type { Place } from "./address.js";
import { hungUp, refusal } from "./refusal.js";

/** What the library asks of a connection. */
type Manager = NonNullable<GrpcTransportOptions["sessionManager"]>;

/** How often a connection is asked whether it is alive, and how long it may take to say so, in milliseconds. */
export interface Keepalive {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

/** Ends a connection, and whatever is under way on it. */
type End = (error?: Error) => void;

/** The connection of a client. */
export class Connection implements Manager {
  readonly authority: string;
  readonly #place: Place;
  readonly #keepalive: Keepalive;
  /** The one that new requests go over, as soon as it is there. */
  #current: Promise<ClientHttp2Session> | undefined;
  /** All open connections: one that the server asked to go away still finishes its calls. */
  readonly #ends = new Set<End>();
  #closed = false;

  constructor(place: Place, keepalive: Keepalive) {
    this.authority = place.url;
    this.#place = place;
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
      if (this.#closed) throw new ConnectError("the client is closed", Code.Canceled);
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

  /** Ends the connection and whatever is under way on it, for good. */
  close(): void {
    this.#closed = true;
    for (const end of this.#ends) end();
  }

  #connect(): Promise<ClientHttp2Session> {
    const socket = this.#place.dial();
    const session = connect(this.authority, { createConnection: () => socket });
    const end: End = (error) => {
      session.destroy(error);
      // A session may wait for a socket that will never take what is written to it.
      socket.destroy();
    };
    this.#ends.add(end);
    const connected = new Promise<ClientHttp2Session>((resolve, reject) => {
      const gone = (): void => {
        if (this.#current === connected) this.#current = undefined;
      };
      const failed = (error: Error): void => {
        gone();
        reject(refusal(socket, error));
      };
      // The listener is never removed: errors after the end are reported by the streams they affect.
      session.on("error", failed);
      // Of an alert of TLS the session says nothing, and leaves the socket open.
      socket.on("error", (error) => {
        failed(error);
        end(error);
      });
      session.on("goaway", () => {
        gone();
        session.close();
      });
      session.on("close", () => {
        gone();
        this.#ends.delete(end);
        reject(hungUp(socket));
      });
      session.on("connect", () => keepAlive(session, end, this.#keepalive));
      // A server may look at our certificate after we have looked at its own, so that a connection that is there may still
      // be refused. Its first word says that it is not.
      session.once("remoteSettings", () => resolve(session));
    });
    return connected;
  }
}

/** Asks a connection again and again whether it is alive, and ends it when it does not say so. */
function keepAlive(session: ClientHttp2Session, end: End, { everyMs, timeoutMs }: Keepalive): void {
  const dead = new ConnectError(`the server did not answer a ping within ${timeoutMs} ms`, Code.Unavailable);
  let late: NodeJS.Timeout | undefined;
  const ping = setInterval(() => {
    if (late || session.destroyed) return;
    late = setTimeout(() => end(dead), timeoutMs);
    session.ping((error) => {
      clearTimeout(late);
      late = undefined;
      if (error) end(dead);
    });
  }, everyMs);
  session.once("close", () => {
    clearInterval(ping);
    clearTimeout(late);
  });
}
