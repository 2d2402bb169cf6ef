import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { manualTime } from "#platform/testing/manual-time.ts";
import { call, eventually, start, type TestGateway } from "../harness/gateway.ts";

const token = ["dashboard", "token", "of", "tests"].join("-");
const bearer = { authorization: `Bearer ${token}` };
const folder = mkdtempSync(join(tmpdir(), "dashboard-access-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const csrf = { "x-smart-gateway-csrf": "1" };

/** An address of this machine that is not loopback. */
const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

function signIn({ url }: { readonly url: string }, form: Record<string, string>, headers: Record<string, string> = {}) {
  return call(`${url}/dashboard/login`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(form).toString(),
    redirect: "manual",
  });
}

const cookieIn = (response: Response) => response.headers.get("set-cookie")?.split(";")[0] ?? "";
const session = (gateway: TestGateway, headers: Record<string, string> = {}) =>
  gateway.get("/dashboard/api/session", headers);
const logout = ({ url }: TestGateway, headers: Record<string, string>) =>
  call(`${url}/dashboard/api/logout`, { method: "POST", headers });

describe("without DASHBOARD_TOKEN", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.stop());

  test("a caller of this machine needs no login", async () => {
    expect(await (await session(gateway)).json()).toMatchObject({
      operator: "loopback",
      signed_in: false,
      demo: false,
    });
    const page = await gateway.get("/dashboard");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  });

  test("a Host that is not of this machine (DNS rebinding) and an Origin that is not the gateway's own are refused", async () => {
    for (const path of ["/dashboard", "/dashboard/api/session", "/dashboard/decisions"]) {
      expect((await gateway.get(path, { host: "evil.example" })).status, path).toBe(403);
    }
    expect((await session(gateway, { origin: "https://evil.example" })).status).toBe(403);
    expect((await session(gateway, { origin: gateway.url })).status).toBe(200);
  });

  test.each(["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"])(
    "a request with the proxy's header %s is refused, wherever the proxy runs",
    async (name) => {
      const answer = await session(gateway, { [name]: "192.0.2.1" });
      expect([answer.status, (await answer.json()).detail]).toEqual([403, expect.stringContaining("DASHBOARD_TOKEN")]);
    },
  );

  test.each([
    [{}, 403],
    [csrf, 200],
    [{ ...csrf, "sec-fetch-site": "cross-site" }, 403],
    [{ ...csrf, "sec-fetch-site": "same-site" }, 403],
    [{ ...csrf, "sec-fetch-site": "same-origin" }, 200],
    [{ ...csrf, origin: "null" }, 403],
  ])("a write with the headers %j, which no page of another site can send, is answered %d", async (headers, status) => {
    expect((await logout(gateway, headers as Record<string, string>)).status).toBe(status);
  });
});

test.skipIf(outside === undefined)(
  "on every address and without DASHBOARD_TOKEN it answers callers of this machine only, under its names only",
  async () => {
    await using gateway = await start({ env: { HOST: "0.0.0.0" } });
    const { port } = new URL(gateway.url);
    const fromOutside = await call(`http://${outside}:${port}/dashboard/api/session`);
    expect([fromOutside.status, (await fromOutside.json()).detail]).toEqual([
      403,
      expect.stringContaining("DASHBOARD_TOKEN"),
    ]);
    expect((await call(`http://${outside}:${port}/dashboard`)).status).toBe(403);
    expect((await call(`http://127.0.0.1:${port}/dashboard/api/session`)).status).toBe(200);
    const rebound = { headers: { host: `evil.example:${port}` } };
    expect((await call(`http://127.0.0.1:${port}/dashboard/api/session`, rebound)).status).toBe(403);
  },
);

describe("with DASHBOARD_TOKEN", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start({ env: { DASHBOARD_TOKEN: token } });
  });
  afterAll(() => gateway.stop());

  test("without a login a page redirects to the form, and the API answers 401", async () => {
    const page = await call(`${gateway.url}/dashboard/decisions?cause=affinity`, { redirect: "manual" });
    const form = page.headers.get("location") ?? "";
    expect([page.status, form]).toEqual([303, "/dashboard/login?next=%2Fdashboard%2Fdecisions%3Fcause%3Daffinity"]);
    const html = await (await gateway.get(form)).text();
    expect(html).toContain('name="next" type="hidden" value="/dashboard/decisions?cause=affinity"');
    expect(html).not.toMatch(/<script|<style|\son\w+=|\sstyle=/);
    const icon = /rel="icon" href="([^"]*)"/.exec(html)?.[1] ?? "";
    expect((await gateway.get(icon)).headers.get("content-type")).toBe("image/svg+xml");
    const api = await session(gateway);
    expect([api.status, (await api.json()).detail]).toEqual([401, expect.stringContaining("/dashboard/login")]);
  });

  test("the right token gives a cookie that scripts cannot read and other sites cannot send", async () => {
    const login = await signIn(gateway, { token, name: "Ada <b>L.</b>", next: "/dashboard/budgets" });
    expect([login.status, login.headers.get("location")]).toEqual([303, "/dashboard/budgets"]);
    const cookie = login.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^smart_gateway_dashboard=[\w.-]+; Path=\/dashboard; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(cookie).not.toContain(token);
    const signedIn = await session(gateway, { cookie: `a=b; ${cookieIn(login)}` });
    expect(await signedIn.json()).toMatchObject({ operator: "Ada bL.b", signed_in: true });
    const behindTls = await signIn(gateway, { token }, { "x-forwarded-proto": "https" });
    expect(behindTls.headers.get("set-cookie")).toContain("; Secure");
  });

  test("a wrong token gives no cookie, and the answer does not repeat it", async () => {
    const login = await signIn(gateway, { token: "wrong-token-of-somebody" });
    expect([login.status, login.headers.get("set-cookie")]).toEqual([401, null]);
    expect(await login.text()).not.toContain("wrong-token-of-somebody");
  });

  test.each([
    "https://evil.example/",
    "//evil.example",
    "/dashboard//evil.example",
    "/\\evil",
    "/healthz",
    "/dashboard\r\nx: y",
  ])("the login does not redirect to %j", async (next) => {
    expect((await signIn(gateway, { token, next })).headers.get("location")).toBe("/dashboard");
  });

  test("a cookie is valid in every process with the same token; one that was changed, or signed with another, is not", async () => {
    const cookie = cookieIn(await signIn(gateway, { token }));
    await using same = await start({ env: { DASHBOARD_TOKEN: token } });
    await using other = await start({ env: { DASHBOARD_TOKEN: `${token}-2` } });
    expect((await session(same, { cookie })).status).toBe(200);
    const [payload = "", signature = ""] = cookie.slice("smart_gateway_dashboard=".length).split(".");
    const [expires, ...rest] = JSON.parse(Buffer.from(payload, "base64url").toString());
    const longer = Buffer.from(JSON.stringify([expires + 1, ...rest])).toString("base64url");
    const foreign = cookieIn(await signIn(other, { token: `${token}-2` }));
    for (const bad of [`${longer}.${signature}`, payload, `${payload}.`, "", "x.y", foreign.split("=")[1]]) {
      expect((await session(gateway, { cookie: `smart_gateway_dashboard=${bad}` })).status, bad).toBe(401);
    }
  });

  test("logging out needs the CSRF header, removes the cookie and ends the session on every node", async () => {
    const env = { DASHBOARD_TOKEN: token, DATABASE_URL: `sqlite:${join(folder, "logout.db")}` };
    await using one = await start({ env });
    await using two = await start({ env });
    const [cookie, other] = [cookieIn(await signIn(one, { token })), cookieIn(await signIn(two, { token }))];
    for (const at of [one, two]) expect((await session(at, { cookie })).status).toBe(200);
    expect((await logout(one, { cookie })).status).toBe(403);
    expect((await logout(one, { cookie, ...csrf })).headers.get("set-cookie")).toContain("Max-Age=0");
    expect((await session(one, { cookie })).status).toBe(401);
    await eventually(async () => (await session(two, { cookie })).status === 401);
    expect((await session(one, { cookie: other })).status).toBe(200);
  });

  test("a program sends the token as a bearer token, and needs no CSRF header; a caller's of /v1 is not accepted", async () => {
    const answer = await session(gateway, bearer);
    expect(await answer.json()).toMatchObject({ operator: "dashboard token", signed_in: false });
    expect((await logout(gateway, bearer)).status).toBe(200);
    expect((await session(gateway, { authorization: "Bearer test-token-0123456789" })).status).toBe(401);
  });

  test.each(["", "/login", "/login.css", "/api/session", "/api/none", "/assets/none.js"])(
    "/dashboard%s has a policy that allows no inline or foreign code and no frames",
    async (path) => {
      const { headers } = await gateway.get(`/dashboard${path}`, bearer);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("same-origin");
      expect(headers.get("access-control-allow-origin")).toBeNull();
      if (path.startsWith("/api")) expect(headers.get("cache-control")).toBe("no-store");
    },
  );

  test.each([
    [{ "sec-fetch-site": "none" }, "same-origin"],
    [{ "x-forwarded-proto": "https" }, "same-origin"],
    [{}, null],
  ])(
    "with %j the opener policy is %p: a browser heeds it over TLS, and where it trusts the origin",
    async (headers, policy) => {
      const answer = await gateway.get("/dashboard/login", headers as Record<string, string>);
      expect(answer.headers.get("cross-origin-opener-policy")).toBe(policy);
    },
  );

  test("unknown paths of the API are 404, known ones with another method 405", async () => {
    expect((await gateway.get("/dashboard/api/none", bearer)).status).toBe(404);
    const wrong = await call(`${gateway.url}/dashboard/api/session`, { method: "POST", headers: bearer });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET"]);
    expect((await call(`${gateway.url}/dashboard/now`, { method: "PUT", headers: bearer })).status).toBe(405);
  });
});

test("a login ends after twelve hours; wrong tokens are limited, also as bearer tokens, and the right one is not", async () => {
  const time = manualTime();
  await using gateway = await start({ env: { DASHBOARD_TOKEN: token }, overrides: { clock: time.clock } });
  const cookie = cookieIn(await signIn(gateway, { token }));
  time.advance(12 * 3_600_000 - 1_000);
  expect((await session(gateway, { cookie })).status).toBe(200);
  time.advance(2_000);
  expect((await session(gateway, { cookie })).status).toBe(401);

  for (let tries = 0; tries < 9; tries += 1) expect((await signIn(gateway, { token: "wrong" })).status).toBe(401);
  const wrong = { authorization: "Bearer wrong" };
  expect((await session(gateway, wrong)).status).toBe(401);
  const limited = await signIn(gateway, { token: "wrong" });
  expect(limited.status).toBe(429);
  expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await session(gateway, wrong)).status).toBe(429);
  // Whoever knows the token is not locked out by those who guess.
  expect((await signIn(gateway, { token })).status).toBe(303);
  expect((await session(gateway, bearer)).status).toBe(200);
  time.advance(60_000);
  expect((await session(gateway, wrong)).status).toBe(401);
});
