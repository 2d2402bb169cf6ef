import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { manualTime } from "#platform/manual-time.ts";
import { call, start, type TestGateway } from "../harness/gateway.ts";

const token = ["dashboard", "token", "of", "tests"].join("-");
const csrf = { "x-smart-gateway-csrf": "1" };

/** An address of this machine that is not loopback. */
const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

function signIn(gateway: TestGateway, form: Record<string, string>, headers: Record<string, string> = {}) {
  return call(`${gateway.url}/dashboard/login`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(form).toString(),
    redirect: "manual",
  });
}

const cookieOf = (response: Response) => response.headers.get("set-cookie")?.split(";")[0] ?? "";

describe("without DASHBOARD_TOKEN", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.stop());

  test("a caller of this machine needs no login", async () => {
    const session = await gateway.get("/dashboard/api/session");
    expect(session.status).toBe(200);
    expect(await session.json()).toMatchObject({ operator: "loopback", signed_in: false, demo: false });
    const page = await gateway.get("/dashboard");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  test("a Host that is not of this machine is refused, as after DNS rebinding", async () => {
    for (const path of ["/dashboard", "/dashboard/api/session", "/dashboard/decisions"]) {
      expect((await gateway.get(path, { host: "evil.example" })).status, path).toBe(403);
    }
  });

  test("an Origin that is not the gateway's own is refused", async () => {
    expect((await gateway.get("/dashboard/api/session", { origin: "https://evil.example" })).status).toBe(403);
    expect((await gateway.get("/dashboard/api/session", { origin: gateway.url })).status).toBe(200);
  });

  test("a request with proxy headers is refused, wherever the proxy runs", async () => {
    const headers = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];
    for (const name of headers) {
      const answer = await gateway.get("/dashboard/api/session", { [name]: "192.0.2.1" });
      expect(answer.status, name).toBe(403);
      expect((await answer.json()).detail).toContain("DASHBOARD_TOKEN");
    }
  });

  test("a write needs the CSRF header, which no page of another site can send", async () => {
    const logout = (headers: Record<string, string>) =>
      call(`${gateway.url}/dashboard/api/logout`, { method: "POST", headers });
    expect((await logout({})).status).toBe(403);
    expect((await logout(csrf)).status).toBe(200);
    expect((await logout({ ...csrf, "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await logout({ ...csrf, "sec-fetch-site": "same-site" })).status).toBe(403);
    expect((await logout({ ...csrf, "sec-fetch-site": "same-origin" })).status).toBe(200);
    expect((await logout({ ...csrf, origin: "null" })).status).toBe(403);
  });
});

describe.skipIf(outside === undefined)("a gateway that listens on every address", () => {
  test("without DASHBOARD_TOKEN it answers callers of this machine only, under its names only", async () => {
    await using gateway = await start({ env: { HOST: "0.0.0.0" } });
    const { port } = new URL(gateway.url);
    const fromOutside = await call(`http://${outside}:${port}/dashboard/api/session`);
    expect(fromOutside.status).toBe(403);
    expect((await fromOutside.json()).detail).toContain("DASHBOARD_TOKEN");
    expect((await call(`http://${outside}:${port}/dashboard`)).status).toBe(403);
    expect((await call(`http://127.0.0.1:${port}/dashboard/api/session`)).status).toBe(200);
    const rebound = { headers: { host: `evil.example:${port}` } };
    expect((await call(`http://127.0.0.1:${port}/dashboard/api/session`, rebound)).status).toBe(403);
  });

  test("with DASHBOARD_TOKEN it answers every caller who has logged in", async () => {
    await using gateway = await start({ env: { HOST: "0.0.0.0", DASHBOARD_TOKEN: token } });
    const { port } = new URL(gateway.url);
    const base = `http://${outside}:${port}/dashboard`;
    expect((await call(`${base}/api/session`)).status).toBe(401);
    const form = new URLSearchParams({ token }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded", origin: `http://${outside}:${port}` };
    const login = await call(`${base}/login`, { method: "POST", headers, body: form, redirect: "manual" });
    expect(login.status).toBe(303);
    const answer = await call(`${base}/api/session`, { headers: { cookie: cookieOf(login) } });
    expect(await answer.json()).toMatchObject({ operator: "dashboard", signed_in: true });
  });
});

describe("with DASHBOARD_TOKEN", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start({ env: { DASHBOARD_TOKEN: token } });
  });
  afterAll(() => gateway.stop());

  test("without a login a page redirects to the form, and the API answers 401", async () => {
    const page = await call(`${gateway.url}/dashboard/decisions?cause=affinity`, { redirect: "manual" });
    expect(page.status).toBe(303);
    const form = page.headers.get("location") ?? "";
    expect(form).toBe("/dashboard/login?next=%2Fdashboard%2Fdecisions%3Fcause%3Daffinity");
    const html = await (await gateway.get(form)).text();
    expect(html).toContain('name="next" type="hidden" value="/dashboard/decisions?cause=affinity"');
    const api = await gateway.get("/dashboard/api/session");
    expect(api.status).toBe(401);
    expect((await api.json()).detail).toContain("/dashboard/login");
  });

  test("the right token gives a cookie that scripts cannot read and other sites cannot send", async () => {
    const login = await signIn(gateway, { token, name: "Ada <b>L.</b>", next: "/dashboard/budgets" });
    expect(login.status).toBe(303);
    expect(login.headers.get("location")).toBe("/dashboard/budgets");
    const cookie = login.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^smart_gateway_dashboard=[\w.-]+; Path=\/dashboard; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(cookie).not.toContain(token);
    const session = await gateway.get("/dashboard/api/session", { cookie: cookieOf(login) });
    expect(await session.json()).toMatchObject({ operator: "Ada bL.b", signed_in: true });
  });

  test("behind TLS the cookie is Secure", async () => {
    const behindTls = { "x-forwarded-proto": "https" };
    expect((await signIn(gateway, { token }, behindTls)).headers.get("set-cookie")).toContain("; Secure");
  });

  test("the login redirects only to the dashboard", async () => {
    for (const next of [
      "https://evil.example/",
      "//evil.example",
      "/dashboard//evil.example",
      "/\\evil",
      "/healthz",
      "/dashboard\r\nx: y",
    ]) {
      expect((await signIn(gateway, { token, next })).headers.get("location"), next).toBe("/dashboard");
    }
  });

  test("a wrong token gives no cookie, and the answer does not repeat it", async () => {
    const login = await signIn(gateway, { token: "wrong-token-of-somebody" });
    expect(login.status).toBe(401);
    expect(login.headers.get("set-cookie")).toBeNull();
    expect(await login.text()).not.toContain("wrong-token-of-somebody");
  });

  test("a cookie that was changed, or signed with another token, is invalid", async () => {
    const cookie = cookieOf(await signIn(gateway, { token }));
    const [payload = "", signature = ""] = cookie.slice("smart_gateway_dashboard=".length).split(".");
    const [expires, ...rest] = JSON.parse(Buffer.from(payload, "base64url").toString());
    const longer = Buffer.from(JSON.stringify([expires + 1, ...rest])).toString("base64url");
    await using other = await start({ env: { DASHBOARD_TOKEN: `${token}-2` } });
    const foreign = cookieOf(await signIn(other, { token: `${token}-2` }));
    for (const bad of [`${longer}.${signature}`, payload, `${payload}.`, "", "x.y", foreign.split("=")[1]]) {
      const answer = await gateway.get("/dashboard/api/session", { cookie: `smart_gateway_dashboard=${bad}` });
      expect(answer.status, bad).toBe(401);
    }
    expect((await gateway.get("/dashboard/api/session", { cookie: `a=b; ${cookie}` })).status).toBe(200);
  });

  test("another process with the same token accepts the session, as WORKERS needs it", async () => {
    await using other = await start({ env: { DASHBOARD_TOKEN: token } });
    const cookie = cookieOf(await signIn(gateway, { token }));
    expect((await other.get("/dashboard/api/session", { cookie })).status).toBe(200);
  });

  test("logging out removes the cookie", async () => {
    const cookie = cookieOf(await signIn(gateway, { token }));
    const logout = (headers: Record<string, string>) =>
      call(`${gateway.url}/dashboard/api/logout`, { method: "POST", headers: { cookie, ...headers } });
    expect((await logout({})).status).toBe(403);
    expect((await logout(csrf)).headers.get("set-cookie")).toContain("Max-Age=0");
  });

  test("a program sends the token as a bearer token, and needs no CSRF header", async () => {
    const authorization = { authorization: `Bearer ${token}` };
    const session = await gateway.get("/dashboard/api/session", authorization);
    expect(await session.json()).toMatchObject({ operator: "dashboard token", signed_in: false });
    const logout = await call(`${gateway.url}/dashboard/api/logout`, { method: "POST", headers: authorization });
    expect(logout.status).toBe(200);
  });

  test("a bearer token of callers of /v1 is not accepted here", async () => {
    const answer = await gateway.get("/dashboard/api/session", { authorization: "Bearer test-token-0123456789" });
    expect(answer.status).toBe(401);
  });
});

test("a login ends after twelve hours", async () => {
  const time = manualTime();
  await using gateway = await start({ env: { DASHBOARD_TOKEN: token }, overrides: { clock: time.clock } });
  const cookie = cookieOf(await signIn(gateway, { token }));
  time.advance(12 * 3_600_000 - 1_000);
  expect((await gateway.get("/dashboard/api/session", { cookie })).status).toBe(200);
  time.advance(2_000);
  expect((await gateway.get("/dashboard/api/session", { cookie })).status).toBe(401);
});

test("wrong tokens are limited, also as bearer tokens, and after a pause the right one is accepted", async () => {
  const time = manualTime();
  await using gateway = await start({ env: { DASHBOARD_TOKEN: token }, overrides: { clock: time.clock } });
  for (let tries = 0; tries < 9; tries += 1) expect((await signIn(gateway, { token: "wrong" })).status).toBe(401);
  const bearer = { authorization: "Bearer wrong" };
  expect((await gateway.get("/dashboard/api/session", bearer)).status).toBe(401);
  const limited = await signIn(gateway, { token });
  expect(limited.status).toBe(429);
  expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await gateway.get("/dashboard/api/session", bearer)).status).toBe(429);
  time.advance(60_000);
  expect((await signIn(gateway, { token })).status).toBe(303);
});

describe("every answer under /dashboard", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await start({ env: { DASHBOARD_TOKEN: token } });
  });
  afterAll(() => gateway.stop());
  const authorization = { authorization: `Bearer ${token}` };

  test("has a policy that allows no inline or foreign code and no frames", async () => {
    for (const path of [
      "/dashboard",
      "/dashboard/login",
      "/dashboard/login.css",
      "/dashboard/api/session",
      "/dashboard/api/none",
      "/dashboard/assets/none.js",
    ]) {
      const { headers } = await gateway.get(path, authorization);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy, path).not.toContain("unsafe");
      expect(headers.get("x-content-type-options"), path).toBe("nosniff");
      expect(headers.get("referrer-policy"), path).toBe("same-origin");
      expect(headers.get("access-control-allow-origin"), path).toBeNull();
    }
  });

  test("has an opener policy where a browser heeds it: over TLS, and where the browser says that the origin is trustworthy", async () => {
    const openerPolicy = async (headers: Record<string, string>) =>
      (await gateway.get("/dashboard/login", headers)).headers.get("cross-origin-opener-policy");
    expect(await openerPolicy({ "sec-fetch-site": "none" })).toBe("same-origin");
    expect(await openerPolicy({ "x-forwarded-proto": "https" })).toBe("same-origin");
    expect(await openerPolicy({})).toBeNull();
  });

  test("of the API may not be cached", async () => {
    for (const path of ["session", "none", "decisions/live/none"]) {
      expect((await gateway.get(`/dashboard/api/${path}`, authorization)).headers.get("cache-control"), path).toBe(
        "no-store",
      );
    }
  });

  test("the login page has no inline script or style", async () => {
    const html = await (await gateway.get("/dashboard/login")).text();
    expect(html).not.toMatch(/<script|<style|\son\w+=|\sstyle=/);
  });

  test("unknown paths of the API are 404, known ones with another method 405", async () => {
    expect((await gateway.get("/dashboard/api/none", authorization)).status).toBe(404);
    const wrong = await call(`${gateway.url}/dashboard/api/session`, { method: "POST", headers: authorization });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get("allow")).toBe("GET");
    expect((await call(`${gateway.url}/dashboard/now`, { method: "PUT", headers: authorization })).status).toBe(405);
  });
});
