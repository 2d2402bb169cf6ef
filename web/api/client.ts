import type { AnswerOf, BodyOf, DashboardEndpoint, QueryOf } from "#dashboard/api.ts";

/** The one client of the dashboard's API. Its types are those of the server's functions. */

/** What an endpoint that is called needs: the segments of its path, a query, a body. */
export interface Input<E extends DashboardEndpoint> {
  readonly at?: Readonly<Record<string, string>>;
  readonly query?: QueryOf<E>;
  readonly body?: BodyOf<E>;
  readonly signal?: AbortSignal | null;
}

/** An answer without success; status 0: no answer. The message is the gateway's own and tells what to do. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function address<E extends DashboardEndpoint>(endpoint: E, { at = {}, query }: Input<E>): string {
  const path = endpoint.slice(endpoint.indexOf(" ") + 1);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(at[name] ?? ""));
  const given = Object.entries(query ?? {}).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]));
  return `/dashboard/api/${filled}?${new URLSearchParams(given)}`;
}

/** Sends a call; throws an `ApiError` unless it succeeded. Writes carry the CSRF header. */
export async function send<E extends DashboardEndpoint>(endpoint: E, input: Input<E> = {}): Promise<Response> {
  const { body = {}, signal = null } = input;
  const write = {
    method: "POST",
    headers: { "content-type": "application/json", "x-smart-gateway-csrf": "1" },
    body: JSON.stringify(body),
  };
  const options = { signal, ...(endpoint.startsWith("POST ") ? write : {}) };
  const response = await fetch(address(endpoint, input), options).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, "The gateway did not answer. It may be stopped, or the connection is cut.");
  });
  if (response.ok) return response;
  if (response.status === 401) {
    location.assign(`/dashboard/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  throw new ApiError(response.status, await problemIn(response));
}

export async function call<E extends DashboardEndpoint>(endpoint: E, input: Input<E> = {}): Promise<AnswerOf<E>> {
  return (await send(endpoint, input)).json() as Promise<AnswerOf<E>>; // what the server's function returns
}

/** What an answer without success says. */
export async function problemIn(response: Response): Promise<string> {
  const body = await response.json().catch(() => undefined); // a proxy's page, or nothing
  return typeof body?.detail === "string" ? body.detail : `The gateway answered ${response.status}.`;
}

/** The `data` of each event of an SSE answer to a POST, for which the browser's EventSource is no use. */
export async function* eventsOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = block.split("\n").filter((line) => line.startsWith("data:"));
        if (data.length > 0) yield data.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
