import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { completes, fails } from "#simulator/behaviours.ts";
import { after } from "#simulator/testing/scripted.ts";
import { cuttingProxy } from "../harness/cutting-proxy.ts";
import { eventually } from "../harness/gateway.ts";
import { type DashboardGateway, startDashboard } from "./fixture.ts";
import { closeBrowser, closeWithoutProblems, type OpenedPage, openPage } from "./page.ts";

let dashboard: DashboardGateway;
let opened: OpenedPage;
let page: Page;

afterAll(closeBrowser);

/** Opens the page of a path, and waits for its list. */
async function open(path: string, rows = true): Promise<void> {
  opened = await openPage(dashboard.url + path);
  page = opened.page;
  if (rows) await page.locator("tr.link").first().waitFor();
}

const rows = () => page.locator("tr.link");
const panel = () => page.getByRole("complementary", { name: "Opened decision" });
const rowIds = (): Promise<string[]> =>
  page.evaluate("Array.from(document.querySelectorAll('tr.link'), (row) => row.id)");
const focused = (): Promise<string> => page.evaluate("document.activeElement.id");
const search = () => new URL(page.url()).searchParams;
/** Times are shown in milliseconds: what happens within one cannot be told apart. */
const nextMillisecond = () => {
  const now = Date.now();
  return eventually(() => Date.now() > now);
};

describe("the list of decisions", () => {
  beforeEach(async () => {
    dashboard = await startDashboard();
  });
  afterEach(() => closeWithoutProblems(opened, dashboard));

  test("shows the time that orders it: the end of each request", async () => {
    const { gateway } = dashboard;
    const gate = Promise.withResolvers<void>();
    gateway.upstream.next(after(gate.promise, completes()));
    const slow = gateway.chat({ messages: [{ role: "user", content: "slow" }] });
    await eventually(() => gateway.upstream.requests.length === 1);
    await nextMillisecond();
    await (await gateway.chat({ messages: [{ role: "user", content: "quick" }] })).text();
    await nextMillisecond();
    gate.resolve();
    const slowId = (await slow).headers.get("x-smart-gateway-decision-id");
    await (await slow).text();
    await dashboard.recorded(2);
    await open("/decisions");
    expect(await page.locator("th").first().innerText()).toBe("ended");
    const shown: { id: string; at: number }[] = await page.evaluate(
      `Array.from(document.querySelectorAll("tr.link"), (row) => ({ id: row.id, at: Date.parse(row.querySelector("time").dateTime) }))`,
    );
    // The slow request began first and ended last.
    expect(shown[0]?.id).toBe(`decision-${slowId}`);
    expect(shown[0]?.at ?? 0).toBeGreaterThan(shown[1]?.at ?? 0);
    await rows().first().click();
    const times = panel().locator("p.muted time");
    expect(await panel().locator("p.muted").first().innerText()).toMatch(/^received .* · ended /);
    const [received, ended] = await Promise.all([0, 1].map((at) => times.nth(at).getAttribute("datetime")));
    expect(Date.parse(ended ?? "")).toBe(shown[0]?.at ?? 0);
    expect(Date.parse(received ?? "")).toBeLessThan(shown[1]?.at ?? 0);
  });

  test("shows a refusal live, with its cause and without a reload", async () => {
    await dashboard.gateway.chat();
    await dashboard.recorded(1);
    await open("/decisions");
    await page.locator(".live[data-state=open]").waitFor();
    const before = performance.now();
    await dashboard.gateway.chat({ model: "smart-router-free" });
    await rows().filter({ hasText: "privacy free denied" }).waitFor();
    const took = performance.now() - before;
    // Under a second on an idle machine; a list that only polls would take longer.
    expect(took).toBeLessThan(3_000);
    expect(await rows().first().innerText()).toContain("refused");
  });

  test("holds new rows back while the pointer is in it, and shows them afterwards", async () => {
    await dashboard.gateway.chat();
    await dashboard.recorded(1);
    await open("/decisions");
    await page.locator(".live[data-state=open]").waitFor();
    await rows().first().hover();
    await dashboard.gateway.chat();
    await dashboard.gateway.chat();
    await page.getByRole("button", { name: "2 new ↑" }).waitFor();
    expect(await rows().count()).toBe(1);
    await page.getByRole("heading", { name: "Decisions" }).hover();
    await rows().nth(2).waitFor();
  });

  test("is limited by the filters of its address; a chip removes one, and Back restores it", async () => {
    await dashboard.traffic();
    await open("/decisions?outcome=refused");
    expect(await rows().count()).toBe(2);
    await page.getByRole("button", { name: "Remove the filter outcome is refused" }).click();
    await rows().nth(9).waitFor();
    expect(search().get("outcome")).toBeNull();
    await page.goBack();
    await page.getByText("outcome is").waitFor();
    await eventually(async () => (await rows().count()) === 2);
    await page.getByLabel("Filter by").selectOption("cause");
    await page.keyboard.press("/");
    await page.getByLabel("Filter by").press("Escape");
    await page.getByLabel("Value of cause").fill("privacy_free_denied");
    await page.keyboard.press("Enter");
    await eventually(async () => (await rows().count()) === 1);
    expect([search().get("outcome"), search().get("cause")]).toEqual(["refused", "privacy_free_denied"]);
  });

  test("loads older ones page by page, each decision once", async () => {
    for (let sent = 0; sent < 130; sent += 10) {
      await Promise.all(Array.from({ length: 10 }, async () => (await dashboard.gateway.chat()).text()));
    }
    await dashboard.recorded(130);
    await open("/decisions");
    await rows().nth(99).waitFor();
    expect(await rows().count()).toBe(100);
    await page.getByRole("button", { name: "older" }).click();
    await rows().nth(129).waitFor();
    expect(await rows().count()).toBe(130);
    expect(new Set(await rowIds()).size).toBe(130);
  });

  test("says that the feed is interrupted, reconnects, and then has the missed decisions", async () => {
    await dashboard.gateway.chat();
    await dashboard.recorded(1);
    const proxy = await cuttingProxy(Number(new URL(dashboard.url).port));
    opened = await openPage(`http://127.0.0.1:${proxy.port}/dashboard/decisions`);
    page = opened.page;
    opened.tolerate(/ERR_/);
    await page.locator(".live[data-state=open]").waitFor();
    proxy.mode = "refuse";
    await page.getByText(/paused at \d\d:\d\d, reconnecting/).waitFor();
    await dashboard.gateway.chat({ model: "smart-router-pro" });
    proxy.mode = "pass";
    await page.locator(".live[data-state=open]").waitFor();
    await eventually(async () => (await rows().count()) === 2);
    await proxy.close();
  });
});

describe("an opened decision", () => {
  beforeAll(async () => {
    dashboard = await startDashboard();
    await dashboard.traffic();
  });
  afterEach(() => closeWithoutProblems(opened));
  afterAll(() => dashboard[Symbol.asyncDispose]());

  test("has its own address and explanation, and returns the focus to its row", async () => {
    await open("/decisions?tier=pro");
    const row = rows().filter({ hasText: "hard pro rule" });
    await row.focus();
    await page.keyboard.press("Enter");
    await panel().getByRole("heading", { name: "Attempts" }).waitFor();
    const text = await panel().innerText();
    for (const part of ["vendor_v4_pro", "Score", "Attempts", "held", "spent", "decision"]) {
      expect(text).toContain(part);
    }
    expect(new URL(page.url()).pathname).toMatch(/\/dashboard\/decisions\/[\w-]+$/);
    expect(search().get("tier")).toBe("pro");
    const address = page.url();

    await page.keyboard.press("Escape");
    await panel().waitFor({ state: "detached" });
    await eventually(async () => (await focused()) === (await rowIds())[0]); // with the next frame
    expect(page.url()).toBe(`${dashboard.url}/decisions?tier=pro`);

    await page.goto(address); // as a copied link is opened
    await panel().getByRole("heading", { name: "Attempts" }).waitFor();
  });

  test("shows each attempt of a fail-over with its status", async () => {
    await open("/decisions?cause=explicit_flash");
    await rows().filter({ hasText: "2 attempts" }).click();
    await panel().getByText("status 503", { exact: true }).waitFor();
    await panel()
      .getByText(/^status 200 · /)
      .waitFor();
  });

  test("leads to the playground with the fields that can be sent again, but not the text", async () => {
    await open("/decisions?cause=explicit_pro");
    await rows().first().click();
    await panel().getByRole("link", { name: "Send the same again" }).click();
    expect(await page.getByLabel("asks for").inputValue()).toBe("smart-router-pro");
    expect(await page.getByLabel("goal").inputValue()).toBe("s2/migrate-billing");
    expect(await page.getByLabel("What is asked for").inputValue()).toBe("");
  });

  test("that does not exist shows a message, and the list stays", async () => {
    opened = await openPage(`${dashboard.url}/decisions/no-such-decision`);
    page = opened.page;
    opened.tolerate(/404/);
    await panel().getByRole("alert").waitFor();
    await rows().first().waitFor();
  });

  test("is reached by the keyboard, which moves through rows, opens, closes, and switches views", async () => {
    await open("/decisions");
    const ids = await rowIds();
    await page.keyboard.press("j");
    expect(await focused()).toBe(ids[0] ?? "no row");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await focused()).toBe(ids[1] ?? "no row");
    await page.keyboard.press("Enter");
    await panel().waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("jkgb"); // typed into the field: text, not shortcuts
    expect(await page.getByLabel("Value of cause").inputValue()).toBe("jkgb");
    await page.keyboard.press("Escape");
    for (const [key, name] of Object.entries({
      b: "Budgets",
      m: "Models",
      p: "Playground",
      o: "Policy",
      n: "Now",
      d: "Decisions",
    })) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.getByRole("heading", { name, level: 1 }).waitFor();
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
  });
});

test("an opened decision says that its model was degraded and shed the request", async () => {
  const policy = { health: { failures_in_a_row: 3 } };
  dashboard = await startDashboard({ policy, overrides: { random: () => 0 } }); // all that may be shed is shed
  dashboard.gateway.upstream.next(fails(500), fails(500));
  for (const content of ["hello", "Implement the parser."]) {
    await (await dashboard.gateway.chat({ messages: [{ role: "user", content }] })).text();
  }
  await dashboard.recorded(2);
  await open("/decisions");
  await rows().first().click();
  await panel()
    .getByText(/degraded and sheds a share of its requests/)
    .waitFor();
  await closeWithoutProblems(opened, dashboard);
});
