/** Whether a request says that its body is JSON: `application/json`, with or without parameters. */
export function isJsonContentType(headers: Headers): boolean {
  const type = headers.get("content-type");
  return type !== null && /^\s*application\/json\s*(?:;|$)/i.test(type);
}

/** Whether a request says that its body is compressed. */
export function isCompressed(headers: Headers): boolean {
  return !/^\s*(?:identity)?\s*$/i.test(headers.get("content-encoding") ?? "");
}
