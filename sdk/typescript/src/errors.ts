// What goes wrong between a client and its server.

import { Code, ConnectError } from "@connectrpc/connect";

/** What kind of thing went wrong: the status of a call, in gRPC's words. */
export type ErrorCode =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "out_of_range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data_loss"
  | "unauthenticated";

const CODES: Readonly<Record<Code, ErrorCode>> = {
  [Code.Canceled]: "canceled",
  [Code.Unknown]: "unknown",
  [Code.InvalidArgument]: "invalid_argument",
  [Code.DeadlineExceeded]: "deadline_exceeded",
  [Code.NotFound]: "not_found",
  [Code.AlreadyExists]: "already_exists",
  [Code.PermissionDenied]: "permission_denied",
  [Code.ResourceExhausted]: "resource_exhausted",
  [Code.FailedPrecondition]: "failed_precondition",
  [Code.Aborted]: "aborted",
  [Code.OutOfRange]: "out_of_range",
  [Code.Unimplemented]: "unimplemented",
  [Code.Internal]: "internal",
  [Code.Unavailable]: "unavailable",
  [Code.DataLoss]: "data_loss",
  [Code.Unauthenticated]: "unauthenticated",
};

/** Coming back later does not help against these. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "invalid_argument",
  "not_found",
  "permission_denied",
  "unauthenticated",
  "unimplemented",
  "out_of_range",
  "failed_precondition",
  "already_exists",
]);

/** A call that failed, or a connection that was lost. */
export class VertebraError extends Error {
  override readonly name = "VertebraError";
  /** What kind of thing went wrong. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Whether it may be better later: the server was not there, or the connection broke. */
  get isTransient(): boolean {
    return !FINAL.has(this.code);
  }

  /** Whatever was thrown, in our words. */
  static from(thrown: unknown): VertebraError {
    if (thrown instanceof VertebraError) return thrown;
    const error = ConnectError.from(thrown);
    return new VertebraError(isLost(error) ? "unavailable" : CODES[error.code], error.rawMessage, { cause: thrown });
  }
}

/** Whether it is about the way to the server. */
function isLost({ cause, code, rawMessage }: ConnectError): boolean {
  // What the system says of a socket: it is not there, it was closed.
  if (cause instanceof Error && "syscall" in cause) return true;
  // A stream ends as cancelled when its connection does. One that is cancelled here says that it was aborted.
  return code === Code.Canceled && rawMessage.startsWith("http/2 stream closed");
}

/** Waits for a call, and says in our words how it failed. */
export async function told<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw VertebraError.from(error);
  }
}
