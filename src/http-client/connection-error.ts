/**
 * A connection failed. `code` is the system's error code (`ECONNREFUSED`, `ECONNRESET`, `ENOTFOUND`, a certificate error
 * of the TLS library …), or one of this client's: `CLOSED` (the server closed before the response was complete),
 * `PROXY_REFUSED`, `CANCELLED`.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: string;
  /** Whether bytes of the request may have been sent: then the server may have processed it. */
  readonly sent: boolean;

  constructor(code: string, sent: boolean) {
    super(code);
    this.code = code;
    this.sent = sent;
  }
}

/** The `code` of any thrown value; empty when it has none. */
export function errorCodeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : "";
  return typeof code === "string" ? code : "";
}
