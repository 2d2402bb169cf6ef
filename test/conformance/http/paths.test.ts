import { afterAll, describe, expect, test } from "bun:test";
import { authorization, call, eventually, start } from "../../harness/gateway.ts";
import { RawCaller } from "../../harness/raw-caller.ts";

/** Each endpoint is served under its own path and no other: a proxy's rules for a path cannot be evaded by another spelling. */
const gateway = await start();
afterAll(() => gateway.stop());

async function statusOf(method: string, path: string, version = "1.1"): Promise<number | undefined> {
  const body = method === "POST" ? "{}" : "";
  const caller = new RawCaller(gateway).send(
    [
      `${method} ${path} HTTP/${version}`,
      ...(version === "1.1" ? ["Host: localhost"] : []),
      "Connection: close",
      `Authorization: ${authorization.authorization}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      "",
      body,
    ].join("\r\n"),
  );
  await eventually(() => caller.closed);
  return caller.statuses[0];
}

/** Spellings that clients or proxies take for the same path. */
function spellings(path: string): string[] {
  const [, first = "", ...rest] = path.split("/");
  const encoded = `%${first.charCodeAt(0).toString(16)}${first.slice(1)}`;
  return [
    `/${path}`,
    `//${path}`,
    `//localhost${path}`,
    `${path}/`,
    path.toUpperCase(),
    `/%2F${path.slice(1)}`,
    `/${[encoded, ...rest].join("/")}`,
    ...(rest.length === 0 ? [] : [path.replace(/\/([^/]*)$/, "//$1"), path.replace(/\/([^/]*)$/, "%2F$1")]),
    `/.${path}`,
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `${path}/.`,
    `${path}%00`,
    `${path};x`,
    `http://localhost/${path}`,
  ];
}

const { paths }: { paths: Record<string, object> } = await (await gateway.get("/openapi.json")).json();
const endpoints = Object.entries(paths)
  // A path with an id takes any segment as the id.
  .filter(([path]) => !path.includes("{"))
  .flatMap(([path, methods]) => Object.keys(methods).map((method): [string, string] => [method.toUpperCase(), path]));

describe("another spelling of a path is 404, with a token", () => {
  test.each(endpoints)("%s %s", async (method, path) => {
    expect(await statusOf(method, path)).not.toBe(404);
    for (const spelling of spellings(path)) {
      expect([spelling, await statusOf(method, spelling)]).toEqual([spelling, 404]);
      expect([spelling, await statusOf(method, spelling, "1.0")]).toEqual([spelling, 404]);
    }
  });
});

test("the root leads a browser to the dashboard, and names the routes to everybody else", async () => {
  const browser = await call(`${gateway.url}/`, { headers: { accept: "text/html,*/*;q=0.8" }, redirect: "manual" });
  expect([browser.status, browser.headers.get("location")]).toEqual([302, "/dashboard"]);
  const { routes } = await (await gateway.get("/")).json();
  expect(routes).toContain("POST /v1/chat/completions");
});

test("a request for what is no route leaves no decision record", async () => {
  await using fresh = await start();
  for (const path of ["/favicon.ico", "/v1/responses", "/wp-login.php"])
    expect((await fresh.get(path)).status).toBe(404);
  expect((await call(`${fresh.url}/v1/models`, { method: "DELETE" })).status).toBe(405);
  expect((await fresh.get("/v1/models")).status).toBe(401);
  const records = async () => (await fresh.gateway.records.query({}, { limit: 10 })).records;
  await eventually(async () => (await records()).length > 0);
  expect((await records()).map(({ status }) => status)).toEqual([401]);
});
