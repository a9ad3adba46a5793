// The address of a server, and how to connect to it.

import { X509Certificate } from "node:crypto";
import { connect as plainly, type Socket } from "node:net";
import { createSecureContext, type SecureContext, connect as secretly } from "node:tls";
import { VertebraError } from "../errors.js";

/** What TLS needs to know: whom to trust, and, for mTLS, who we are. */
export interface TlsOptions {
  /** The certificates to trust, in PEM (what is in the file, not its name); those that Node trusts unless given. */
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

const wrong = (message: string, cause?: unknown): VertebraError =>
  new VertebraError("invalid_argument", message, { cause });

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
      throw wrong(`invalid address ${address}: write http://HOST:PORT, https://HOST:PORT or unix:///PATH`);
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
    throw wrong(`invalid address ${address}: write a scheme, a host and a port, and nothing else`);
  }
  // An IPv6 address is written in brackets.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (tls ? 443 : 80));
  if (!tls) return { url: url.origin, dial: () => plainly({ host, port, noDelay: true }) };
  const secureContext = secrets(tls);
  const name = tls.serverName === undefined ? {} : { servername: tls.serverName };
  return {
    url: url.origin,
    dial: () => secretly({ host, port, secureContext, ...name, ALPNProtocols: ["h2"] }).setNoDelay(true),
  };
}

/** Reads certificates and keys, so that an invalid one is an error before the client connects. */
function secrets({ ca, cert, key }: TlsOptions): SecureContext {
  if ((cert === undefined) !== (key === undefined)) {
    throw wrong("a certificate and its key go together: pass both `tls.cert` and `tls.key`");
  }
  const read = <T>(what: string, reading: () => T): T => {
    try {
      return reading();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw wrong(`${what} cannot be read: ${why}; pass what is in the file, in PEM`, cause);
    }
  };
  // A context accepts any text as an authority, and then trusts no server.
  if (ca !== undefined) read("`tls.ca`", () => new X509Certificate(ca));
  return read("`tls.cert` with `tls.key`", () => createSecureContext({ ca, cert, key }));
}
