import { afterAll, beforeAll, expect, test } from "bun:test";
import { type DashboardGateway, startDashboard } from "./fixture.ts";
import { closeBrowser, openPage } from "./page.ts";

let dashboard: DashboardGateway;
beforeAll(async () => {
  dashboard = await startDashboard();
  await dashboard.traffic();
});
afterAll(async () => {
  await dashboard[Symbol.asyncDispose]();
  await closeBrowser();
});

test("the first view is shown soon after a warm start and loads one script and one style sheet", async () => {
  await (await openPage(dashboard.url))[Symbol.asyncDispose](); // the browser itself is warm afterwards
  await using opened = await openPage("about:blank");
  const { page } = opened;
  const files: string[] = [];
  page.on("request", (request) => {
    if (/\.(js|css)$/.test(request.url())) files.push(request.url());
  });
  await page.goto(dashboard.url);
  await page.getByText("Needs you").waitFor();
  const shownMs = await page.evaluate("performance.now()");
  expect(files).toHaveLength(2);
  // 300 ms on an idle machine; CI shares its cores.
  expect(Number(shownMs)).toBeLessThan(3_000);
});

test("a tab in the background closes its live feed, and opens it again in the foreground", async () => {
  await using opened = await openPage(`${dashboard.url}/decisions`);
  const { page } = opened;
  await page.locator(".live[data-state=open]").waitFor();
  await page.evaluate(`(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  })()`);
  await page.locator(".live[data-state=open]").waitFor({ state: "detached" });
  await page.evaluate(`(() => {
    delete document.hidden;
    delete document.visibilityState;
    document.dispatchEvent(new Event("visibilitychange"));
  })()`);
  await page.locator(".live[data-state=open]").waitFor();
  expect(opened.problems).toEqual([]);
});
