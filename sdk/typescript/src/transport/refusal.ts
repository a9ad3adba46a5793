// Explains a failed connection, and says what to do about it.

import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { Code, ConnectError } from "@connectrpc/connect";

/** The alerts of a server that rejects the client's certificate. */
const NOT_TAKEN = /_ALERT_(?:\w*CERTIFICATE\w*|UNKNOWN_CA|DECRYPT_ERROR|ACCESS_DENIED)$/;

/** What a connection failed of. */
export function refusal(socket: Socket, error: Error & { readonly code?: unknown }): ConnectError {
  if (error instanceof ConnectError) return error;
  const because = (code: Code, message: string): ConnectError =>
    new ConnectError(message, code, undefined, undefined, error);
  const code = String(error.code ?? "");
  if (socket instanceof TLSSocket && socket.authorizationError) {
    return because(
      Code.Unavailable,
      `the certificate of the server is not trusted: ${error.message} (\`tls.ca\` says who vouches for it, \`tls.serverName\` as whom)`,
    );
  }
  if (code.endsWith("_CERTIFICATE_REQUIRED")) {
    return because(Code.Unauthenticated, "the server knows clients by their certificates: pass `tls: { cert, key }`");
  }
  if (NOT_TAKEN.test(code)) {
    return because(Code.Unauthenticated, `the server does not take the certificate in \`tls.cert\` (${code})`);
  }
  if (code.endsWith("_WRONG_VERSION_NUMBER")) {
    return because(Code.Unavailable, "the server speaks no TLS: write http://, or leave out `tls`");
  }
  return because(Code.Unavailable, error.message);
}

/** It was over before the server said anything. */
export function hungUp(socket: Socket): ConnectError {
  const why = socket instanceof TLSSocket ? "" : ": if it has a certificate, write https:// or pass `tls`";
  return new ConnectError(`the server ended the connection before it said a word${why}`, Code.Unavailable);
}
