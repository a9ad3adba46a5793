// A wire that can be cut: between a client and its server, byte for byte.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A wire between a client and a server. */
export interface Cuttable {
  /** Where the client connects. */
  readonly address: string;
  /** Cuts every connection. New ones are let through. */
  cut(): void;
  /** Lets nothing through any more on the connections there are, without a word. */
  stall(): void;
  /** Cuts, and lets nobody through until told otherwise. */
  block(): void;
  unblock(): void;
  /** How many came while nobody was let through. */
  readonly turnedAway: number;
  close(): Promise<void>;
}

/** Puts a wire before a server on TCP. */
export async function cuttable(to: string): Promise<Cuttable> {
  const { hostname, port } = new URL(to.replace("tcp:", "http:"));
  const sockets = new Set<Socket>();
  let blocked = false;
  let turnedAway = 0;
  const server = createServer((inside) => {
    if (blocked) {
      turnedAway += 1;
      return void inside.destroy();
    }
    const outside = connect(Number(port), hostname);
    for (const [one, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(one);
      one
        .on("error", () => undefined)
        .on("close", () => {
          sockets.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    stall() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    block() {
      blocked = true;
      cut();
    },
    unblock() {
      blocked = false;
    },
    get turnedAway() {
      return turnedAway;
    },
    async close() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
