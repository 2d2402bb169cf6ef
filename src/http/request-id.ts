const sane = /^[A-Za-z0-9][A-Za-z0-9._:@/+=-]{0,127}$/;

/** The caller's `X-Request-Id` if it is short and plain, else a new one. */
export function requestIdOf(headers: Headers): string {
  const given = headers.get("x-request-id");
  return given !== null && sane.test(given) ? given : crypto.randomUUID();
}
