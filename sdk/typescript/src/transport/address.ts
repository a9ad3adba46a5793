// Where a server is, and how it is reached.

import { connect as plainly, type Socket } from "node:net";
import { connect as secretly } from "node:tls";
import { VertebraError } from "../errors.js";

/** What TLS needs to know: whom to trust, and, for mTLS, who we are. */
export interface TlsOptions {
  /** The certificates to trust, in PEM; those of the system unless given. */
  readonly ca?: string | Buffer;
  /** Our own certificate, in PEM. */
  readonly cert?: string | Buffer;
  /** Its key, in PEM. */
  readonly key?: string | Buffer;
  /** The name in the server's certificate, if it is not the host's. */
  readonly serverName?: string;
}

/** Where a server is. */
export interface Place {
  /** As requests name it. */
  readonly url: string;
  /** Opens a way there. */
  readonly dial: () => Socket;
}

const wrong = (message: string): VertebraError => new VertebraError("invalid_argument", message);

/**
 * Reads an address: `http://127.0.0.1:7777`, `https://…`, `tcp://…` (plain, or TLS if `tls` is given), or `unix:///path`.
 */
export function place(address: string, tls?: TlsOptions): Place {
  const [, scheme, rest] = /^([a-z]+):(.*)$/.exec(address) ?? [];
  switch (scheme) {
    case "unix":
      return socket(address, rest ?? "", tls);
    case "tcp":
      return network(`${tls ? "https" : "http"}:${rest}`, tls);
    case "https":
      return network(address, tls ?? {});
    case "http":
      if (tls) throw wrong(`${address} is not encrypted: write https:// where there is \`tls\``);
      return network(address);
    default:
      throw wrong(`${address} is no address: write http://HOST:PORT, https://HOST:PORT or unix:///PATH`);
  }
}

function socket(address: string, rest: string, tls: TlsOptions | undefined): Place {
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (!path.startsWith("/")) throw wrong(`${address} has no full path: write unix:///PATH`);
  if (tls) throw wrong("a Unix socket knows who connects: leave out `tls`");
  return { url: "http://localhost", dial: () => plainly(path) };
}

function network(address: string, tls?: TlsOptions): Place {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url?.host || url.pathname !== "/" || url.search || url.username) {
    throw wrong(`${address} is no address: write a scheme, a host and a port, and nothing else`);
  }
  // An address of the sixth version stands in brackets.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (tls ? 443 : 80));
  if (!tls) return { url: url.origin, dial: () => plainly({ host, port, noDelay: true }) };
  const { serverName, ...identity } = tls;
  const name = serverName === undefined ? {} : { servername: serverName };
  return {
    url: url.origin,
    dial: () => secretly({ host, port, ...identity, ...name, ALPNProtocols: ["h2"] }).setNoDelay(true),
  };
}
