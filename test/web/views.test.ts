import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { sampleRequest } from "#cli/commands/sample-requests.ts";
import { tokenDigest } from "#config/auth-keys.ts";
import { eventually, token } from "../harness/gateway.ts";
import { type DashboardGateway, startDashboard } from "./fixture.ts";
import { accessibilityProblems, closeBrowser, openPage } from "./page.ts";

/** If set, the README's screenshots are written: `DASHBOARD_SCREENSHOTS=docs/images npm test -- test/web/views.test.ts`. */
const screenshotFolder = process.env["DASHBOARD_SCREENSHOTS"];

const views = [
  { name: "now", path: "", shows: "Needs you" },
  { name: "decisions", path: "/decisions", shows: "served" },
  { name: "decision", path: "/decisions", shows: "served", before: openHardRule },
  { name: "budgets", path: "/budgets", shows: "Goals" },
  { name: "models", path: "/models", shows: "State over time" },
  { name: "playground", path: "/playground", shows: "asks for", before: typeSecret },
  { name: "policy", path: "/policy", shows: "In force" },
] as const;

async function openHardRule(page: Page): Promise<void> {
  await page.locator("tr.link", { hasText: "hard pro rule" }).first().click();
  await page
    .getByRole("complementary", { name: "Opened decision" })
    .getByRole("heading", { name: "Attempts" })
    .waitFor();
}

async function typeSecret(page: Page): Promise<void> {
  await page.getByRole("button", { name: "an ask with a secret in it" }).click();
  await page.locator("mark").first().waitFor();
}

const readmeFolder = "docs/images";
const readmePictures = new Set([
  "now-light-wide",
  "decision-dark-wide",
  "budgets-light-wide",
  "playground-light-wide",
  "decisions-dark-phone",
]);

/** Caps that are nearly used, for the screenshots. */
const smallCaps = {
  per_goal_soft_usd: 0.01,
  per_goal_hard_usd: 0.02,
  per_day_soft_usd: 0.04,
  per_day_hard_usd: 0.08,
};

/** The requests of `demo traffic`. */
async function sendSamples({ gateway, recorded }: DashboardGateway, requests: number): Promise<void> {
  for (let sent = 0; sent < requests; sent += 1) {
    const { body, headers } = sampleRequest(sent);
    if (headers["authorization"] === "") continue;
    await (await gateway.chat({ ...body }, { ...headers })).text();
  }
  // A goal with a long name is on the first page.
  const goal = { "x-session-id": "nightly-run-of-the-build-farm", "x-goal-id": "find-what-broke-the-release" };
  await (await gateway.chat({}, goal)).text();
  await recorded(requests / 2);
}

const looks = [
  { theme: "light", width: 1280, height: 860 },
  { theme: "dark", width: 1280, height: 860 },
  { theme: "light", width: 390, height: 844 },
  { theme: "dark", width: 390, height: 844 },
] as const;

const keysFile = join(tmpdir(), `dashboard-keys-${process.pid}`);
let dashboard: DashboardGateway;
beforeAll(async () => {
  const keys = { ci: [token, "0.1"], laptop: ["token-of-a-laptop", "1"] } as const;
  const lines = Object.entries(keys).map(([label, [key, usd]]) => `${tokenDigest(key)} ${label} day_hard_usd=${usd}\n`);
  writeFileSync(keysFile, lines.join(""));
  const options = screenshotFolder === undefined ? {} : { policy: { budget: smallCaps } };
  dashboard = await startDashboard({ ...options, env: { AUTH_KEYS_FILE: keysFile } });
  await dashboard.traffic();
  if (screenshotFolder !== undefined) await sendSamples(dashboard, 720);
});
afterAll(async () => {
  await dashboard[Symbol.asyncDispose]();
  await closeBrowser();
  rmSync(keysFile);
});

/** The other two looks are in the long run, and in that of the screenshots. */
const isLong = process.env["SMART_GATEWAY_LONG_TESTS"] === "1" || screenshotFolder !== undefined;

describe.each(isLong ? looks : [looks[0], looks[3]])(
  "on a page of $width pixels, $theme",
  ({ theme, width, height }) => {
    test.each(views)("$name is shown, accessible, not wider than the page, without an error", async (view) => {
      await using opened = await openPage(dashboard.url + view.path, {
        colorScheme: theme,
        viewport: { width, height },
        reducedMotion: "reduce",
      });
      const { page, problems } = opened;
      await page.getByText(view.shows, { exact: false }).first().waitFor();
      if ("before" in view) await view.before(page);
      await eventually(async () => (await page.locator(".skeleton").count()) === 0);
      const name = `${view.name}-${theme}-${width === 390 ? "phone" : "wide"}`;
      if (screenshotFolder !== undefined && (screenshotFolder !== readmeFolder || readmePictures.has(name)))
        await takeScreenshot(page, name);
      expect(await accessibilityProblems(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")).toBe(
        0,
      );
      expect(problems).toEqual([]);
    });
  },
);

async function takeScreenshot(page: Page, name: string): Promise<void> {
  const folder = resolve(import.meta.dir, "..", "..", screenshotFolder ?? "");
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `dashboard-${name}.png`), animations: "disabled" });
}

test("at phone width a decision takes two lines, however long the name of its goal", async () => {
  await using opened = await openPage(`${dashboard.url}/decisions`, { viewport: { width: 390, height: 844 } });
  const { page } = opened;
  await page.locator("tr.link").nth(9).waitFor();
  const rows = (await page.evaluate(`Array.from(document.querySelectorAll("tr.link"), (row) => {
    const top = (selector) => row.querySelector(selector).getBoundingClientRect().top;
    const apart = [top("time") - top(".push"), top(".cause") - top("td:last-child")].map(Math.abs);
    return { goal: row.querySelector(".clip").innerText, apart: Math.max(...apart) };
  })`)) as { goal: string; apart: number }[];
  expect(rows.some(({ goal }) => goal.length > 50)).toBe(true);
  expect(rows.filter(({ apart }) => apart > 8)).toEqual([]);
});

test("the first chart is the spend of the range by model; beside it another that the address names; both can be kept", async () => {
  await using opened = await openPage(dashboard.url);
  const { page } = opened;
  const spend = page.getByRole("figure", { name: "Spend", exact: true });
  await spend.getByText("vendor_v4_pro").waitFor();
  expect(await page.getByRole("figure").first().innerText()).toContain("Spend");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    spend.getByRole("button", { name: "export Spend" }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("Spend.csv");
  await page.getByLabel("Chart", { exact: true }).selectOption("Failed calls");
  expect(new URL(page.url()).searchParams.get("chart")).toBe("failed");
  await page.getByText(/failed calls? repeated/).waitFor();
  expect(opened.problems).toEqual([]);
});

test("the list of decisions is as wide as a page of 1280 pixels, and its rows can be kept", async () => {
  await using opened = await openPage(`${dashboard.url}/decisions`);
  const { page } = opened;
  await page.locator("tr.link").nth(9).waitFor();
  expect(
    await page.evaluate(
      "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.scroll'))",
    ),
  ).toBe(0);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "export decisions" }).click(),
  ]);
  const lines = (await Bun.file(await file.path()).text()).trim().split("\n");
  // All that the filter finds, and not what is loaded.
  const found = await page.locator("[data-total-requests]").getAttribute("data-total-requests");
  expect([lines[0]?.split(",")[1], lines.length - 1]).toEqual(["decision_id", Number(found)]);
});
