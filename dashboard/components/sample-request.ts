/** A request to this page's gateway that can be pasted into a shell. */
export function sampleRequest(): string {
  const body = { model: "smart-router", messages: [{ role: "user", content: "Say hello." }] };
  return [
    `curl ${location.origin}/v1/chat/completions`,
    "-H 'Authorization: Bearer my-token'",
    "-H 'Content-Type: application/json'",
    `-d '${JSON.stringify(body)}'`,
  ].join(" ");
}
