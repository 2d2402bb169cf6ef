/**
 * What a connection was doing when it failed or was given up: reaching the server or the proxy, asking the proxy for a
 * tunnel, the TLS handshake, or an exchange.
 */
export type ConnectionStage = "connect" | "connect_proxy" | "tunnel" | "handshake" | "exchange";

/**
 * A connection failed. `code` is the system's error code (`ECONNREFUSED`, `ECONNRESET`, `ENOTFOUND`, a certificate
 * error of the TLS library …), or one of this client's: `CLOSED` (the server closed before the response was complete),
 * `PROXY_REFUSED`, `CANCELLED`.
 */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly code: string;
  /** Whether bytes of the request may have been sent: then the server may have processed it. */
  readonly sent: boolean;
  readonly stage: ConnectionStage;
  /** With `PROXY_REFUSED`, the status of the proxy's answer, if it had one. */
  readonly proxyStatus: number | undefined;

  constructor(code: string, sent: boolean, stage: ConnectionStage = "exchange", proxyStatus?: number) {
    super(code);
    this.code = code;
    this.sent = sent;
    this.stage = stage;
    this.proxyStatus = proxyStatus;
  }
}

/** The reason of the TLS library, at the end of a message whose code is the same for all of them. */
const tlsReason = /:SSL routines:[^:]*:([A-Z0-9_]{3,80})$/;

/** The `code` of any thrown value, "" when it has none. Errors of the TLS library get Node's names (`ERR_SSL_…`). */
export function errorCodeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : "";
  if (code === "EPROTO" && error instanceof Error) {
    const [, reason] = tlsReason.exec(error.message) ?? [];
    if (reason !== undefined) return `ERR_SSL_${reason}`;
  }
  return typeof code === "string" ? code : "";
}
