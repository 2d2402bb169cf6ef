import { expect } from "bun:test";

const authorization = { authorization: "Bearer smoke-test-token", "content-type": "application/json" };

/** What every way to run the gateway has to answer: chat whole and streamed, the dry run, the dashboard with its files, the probes. */
export async function answersEveryRoute(url: string): Promise<void> {
  const chat = (stream: boolean) =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: authorization,
      body: JSON.stringify({ model: "smart-router", stream, messages: [{ role: "user", content: "Say hello" }] }),
    });
  const whole = await chat(false);
  expect(whole.status, await whole.clone().text()).toBe(200);
  const { choices } = (await whole.json()) as { choices: { message: { content: string } }[] };
  expect(choices[0]?.message.content).not.toBeEmpty();
  expect(await (await chat(true)).text()).toEndWith("data: [DONE]\n\n");
  const record = await fetch(`${url}/v1/route/decisions/${whole.headers.get("x-smart-gateway-decision-id")}`, {
    headers: authorization,
  });
  expect(record.status).toBe(200);

  const page = await (await fetch(`${url}/dashboard`)).text();
  const files = [...page.matchAll(/\/dashboard\/assets\/[\w.-]+/g)].map(([path]) => path);
  expect(files.length).toBeGreaterThan(1);
  for (const path of [...files, "/healthz", "/livez", "/readyz", "/metrics", "/openapi.json"])
    expect((await fetch(url + path)).status, path).toBe(200);
}

/** The address in what a gateway prints at its start. */
export async function printedUrl(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    const url = /"url":"(http:[^"]+)"/.exec(text)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`it ended and printed no address: ${text}`);
}
