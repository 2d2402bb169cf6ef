/**
 * A connection failed. `code` is the system's name for what happened (`ECONNREFUSED`, `ECONNRESET`, `ENOTFOUND`, the TLS
 * library's name for what is wrong with a certificate …), or one of ours: `CLOSED` when the other side closed before its
 * answer was whole, `PROXY_REFUSED`, `CANCELLED`.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: string;
  /** Whether bytes of the request may have left this machine: then it may have been answered, and billed. */
  readonly sent: boolean;

  constructor(code: string, sent: boolean) {
    super(code);
    this.code = code;
    this.sent = sent;
  }
}

/** What an error, whoever threw it, calls itself; empty when it does not say. */
export function errorCodeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : "";
  return typeof code === "string" ? code : "";
}
