import type { AnswerOf, BodyOf, DashboardEndpoint, QueryOf } from "#dashboard/api-schema.ts";

/** The one client of the dashboard's API. The server has validated what it sends; here are only its types. */

const base = "/dashboard/api/";

/** What an endpoint that is called needs: the segments of its path, a query, a body. */
export interface Input<E extends DashboardEndpoint> {
  readonly at?: Readonly<Record<string, string>>;
  readonly query?: QueryOf<E>;
  readonly body?: BodyOf<E>;
  readonly signal?: AbortSignal;
}

/** An answer without success. The message is the gateway's own and tells what to do. */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Called when an answer says that a login is needed. */
let onSignedOut: () => void = () => {};
export function whenSignedOut(react: () => void): void {
  onSignedOut = react;
}

export function address<E extends DashboardEndpoint>(endpoint: E, input: Pick<Input<E>, "at" | "query"> = {}): string {
  const path = endpoint.slice(endpoint.indexOf(" ") + 1);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(input.at?.[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  }
  const query = search.toString();
  return `${base}${filled}${query === "" ? "" : `?${query}`}`;
}

/** Sends a call; throws an `ApiError` unless it succeeded. Writes carry the CSRF header, which no page of another site can send. */
export async function send<E extends DashboardEndpoint>(endpoint: E, input: Input<E> = {}): Promise<Response> {
  const method = endpoint.slice(0, endpoint.indexOf(" "));
  const response = await fetch(address(endpoint, input), {
    method,
    credentials: "same-origin",
    ...(method === "POST" && {
      headers: { "content-type": "application/json", "x-smart-gateway-csrf": "1" },
      body: JSON.stringify(input.body ?? {}),
    }),
    ...(input.signal === undefined ? {} : { signal: input.signal }),
  }).catch((error: unknown) => {
    if (input.signal?.aborted === true) throw error;
    throw new ApiError(0, "The gateway did not answer. It may be stopped, or the connection is cut.");
  });
  if (response.ok) return response;
  if (response.status === 401) onSignedOut();
  throw new ApiError(response.status, await detailOf(response));
}

export async function call<E extends DashboardEndpoint>(endpoint: E, input: Input<E> = {}): Promise<AnswerOf<E>> {
  const response = await send(endpoint, input);
  return (await response.json()) as AnswerOf<E>; // the schema's type: what the server sends has passed it
}

async function detailOf(response: Response): Promise<string> {
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "detail" in body && typeof body.detail === "string") {
      return body.detail;
    }
  } catch {
    // Not JSON: a proxy's page, or nothing.
  }
  return `The gateway answered ${response.status}.`;
}
