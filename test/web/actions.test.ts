import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { tokenDigest } from "#config/auth-keys.ts";
import { fails } from "#simulator/behaviours.ts";
import { eventually, type StartOptions } from "../harness/gateway.ts";
import { type DashboardGateway, startDashboard } from "./fixture.ts";
import { closeBrowser, closeWithoutProblems, type OpenedPage, openPage } from "./page.ts";

let dashboard: DashboardGateway;
let opened: OpenedPage;
let page: Page;
afterAll(closeBrowser);

/** A gateway for all cases of a subject. */
function shareGateway(options: StartOptions = {}, traffic = true): void {
  beforeAll(async () => {
    dashboard = await startDashboard(options);
    if (traffic) await dashboard.traffic();
  });
  afterEach(() => closeWithoutProblems(opened));
  afterAll(() => dashboard[Symbol.asyncDispose]());
}

async function open(path: string): Promise<void> {
  opened = await openPage(dashboard.url + path);
  page = opened.page;
}

const dialog = () => page.getByRole("dialog");
const goalRow = (name: string) => page.getByRole("row").filter({ hasText: name }).first();

describe("budgets", () => {
  shareGateway();

  test("a goal's cap is set after its effect was shown, and applies from the next request on", async () => {
    await open("/budgets");
    await page.getByRole("button", { name: "Set cap of s1/flaky-tests" }).click();
    await dialog().getByText("The policy says $5.00.").waitFor();
    const field = dialog().getByLabel("Hard cap in US dollars");
    await field.fill("seven");
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    await field.fill("0.0001");
    await dialog().getByText("every further request is refused").waitFor();
    await dialog().getByRole("button", { name: "Set the cap to $0.0001" }).click();
    await dialog().waitFor({ state: "detached" });
    await goalRow("s1/flaky-tests").getByText("set by hand").waitFor();
    const refused = await dashboard.gateway.chat({}, { "x-session-id": "s1", "x-goal-id": "flaky-tests" });
    expect(refused.status).toBe(403);

    await page.getByRole("button", { name: "Set cap of s1/flaky-tests" }).click();
    await dialog().getByLabel("Hard cap in US dollars").fill("");
    await dialog().getByRole("button", { name: "Give the cap back to the policy" }).click();
    await goalRow("s1/flaky-tests").getByText("set by hand").waitFor({ state: "detached" });
  });

  /** The button that has the focus; empty where none has. */
  const focusedButton = async () =>
    String(await page.evaluate("document.activeElement.closest('button')?.textContent ?? ''"));

  test("Cancel and Escape change nothing and restore the focus", async () => {
    await open("/budgets");
    const button = page.getByRole("button", { name: "Set cap of s1/refactor" });
    for (const leave of ["Cancel", "Escape"]) {
      await button.click();
      await dialog().waitFor();
      if (leave === "Escape") await page.keyboard.press("Escape");
      else await dialog().getByRole("button", { name: "Cancel" }).click();
      await dialog().waitFor({ state: "detached" });
      await eventually(async () => (await focusedButton()) === "Set cap of s1/refactor");
    }
    expect(await page.getByText("set by hand").count()).toBe(0);
  });

  test("a cap is set by the keyboard alone, and the focus is restored", async () => {
    await open("/budgets");
    await page.getByRole("button", { name: "Set cap of s1/refactor" }).focus();
    await page.keyboard.press("Enter");
    await dialog().waitFor();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("7.50");
    await page.keyboard.press("Enter");
    await goalRow("s1/refactor").getByText("set by hand").waitFor();
    await eventually(async () => (await focusedButton()) === "Set cap of s1/refactor");
  });

  test("a refused change shows the reason, and the dialog stays open", async () => {
    await open("/budgets");
    opened.tolerate(/status of 4/);
    await page.getByRole("button", { name: "Set cap of s1/refactor" }).click();
    await page.route("**/dashboard/api/budgets/**", (route) =>
      route.fulfill({ status: 409, json: { detail: "Somebody else has changed it." } }),
    );
    await dialog().getByLabel("Hard cap in US dollars").fill("7.50");
    await dialog().getByRole("button", { name: "Set the cap to $7.50" }).click();
    await dialog().getByRole("alert").getByText("Somebody else has changed it.").waitFor();
  });
});

describe("a hold", () => {
  shareGateway({}, false);

  test("an unresolved hold is on the first page, and is released by hand after its figures were shown", async () => {
    dashboard.gateway.upstream.next(fails(503));
    await dashboard.gateway.chat();
    await open("");
    await page.locator(".alerts li").first().waitFor();
    expect(await page.locator("nav .badge").innerText()).toStartWith("1");
    await page.locator(".alerts a.do").click();
    await page.getByRole("heading", { name: "Budgets", level: 1 }).waitFor();
    const held = (await dashboard.gateway.ledger(() => true)).held;
    expect(held).toBeGreaterThan(0);
    await page.getByRole("button", { name: /^Release the hold/ }).click();
    await dialog().getByText("goes back to the goals and the day").waitFor();
    await dialog().getByLabel("Why").fill("the upstream has not billed it");
    await dialog()
      .getByRole("button", { name: /^Release \$/ })
      .click();
    await page.getByText("Nothing is held.").waitFor();
    expect((await dashboard.gateway.ledger()).held).toBe(0);
  });
});

describe("callers' keys", () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-keys-"));
  const file = join(folder, "keys");
  // Of flash a short call costs some 0.00001 USD.
  const caps = { busy: "0.0002", unused: "2", never: "0.000001" };
  const lines = Object.entries(caps).map(
    ([label, usd]) => `${tokenDigest(`token-of-${label}`)} ${label} day_hard_usd=${usd}`,
  );
  writeFileSync(file, lines.join("\n"));
  afterAll(() => rmSync(folder, { recursive: true }));
  shareGateway({ env: { AUTH_KEYS_FILE: file } }, false);

  test("each has a bar of its cap, also one that has spent nothing or can spend nothing, and leads to its decisions", async () => {
    const chat = async (label: string) =>
      (await dashboard.gateway.chat({ max_tokens: 100 }, { authorization: `Bearer token-of-${label}` })).status;
    expect(await chat("busy")).toBe(200);
    while ((await chat("busy")) === 200);
    expect(await chat("never")).toBe(403);
    await dashboard.gateway.ledger();
    await open("/budgets");
    const table = page.getByRole("table", { name: "Keys by the share of their cap" });
    const rows = table.getByRole("row").filter({ hasText: "$" });
    await rows.nth(2).waitFor();
    const shown = await rows.evaluateAll((all) => all.map((row) => row.textContent ?? ""));
    expect(shown.map((text) => text.match(/busy|unused|never/)?.[0])).toEqual(["busy", "unused", "never"]);
    expect(shown[1]).toContain("$2.00");
    expect(await table.getByRole("img").count()).toBe(3);
    await table.getByRole("link", { name: "never" }).click();
    await page.getByRole("heading", { name: "Decisions", level: 1 }).waitFor();
    expect(page.url()).toContain("label=never");
    await page.locator("tr.link").first().waitFor();
    expect(await page.locator("tr.link").count()).toBe(1);
    await page.getByRole("link", { name: "Now" }).click();
    await page.locator(".alerts li").filter({ hasText: "The key busy has used" }).waitFor();
    expect(await page.locator(".alerts li").filter({ hasText: "unused" }).count()).toBe(0);
  });
});

describe("models", () => {
  shareGateway();

  test("one is disabled and enabled again, and routing follows", async () => {
    await open("/models");
    await page.getByRole("button", { name: "Disable vendor_v4_flash" }).click();
    await dialog()
      .getByText(/It served \d+ requests? of this range/)
      .waitFor();
    await dialog().getByRole("button", { name: "Disable vendor_v4_flash" }).click();
    await page.getByRole("button", { name: "Enable vendor_v4_flash" }).waitFor();
    await eventually(async () => (await dashboard.gateway.health())["vendor_v4_flash"] === "DISABLED");
    const row = page.getByRole("row").filter({ hasText: "vendor_v4_flash" }).first();
    await row.filter({ hasText: "disabled" }).waitFor();
    await page.getByRole("button", { name: "Enable vendor_v4_flash" }).click();
    await dialog().getByRole("button", { name: "Enable vendor_v4_flash" }).click();
    await eventually(async () => (await dashboard.gateway.health())["vendor_v4_flash"] !== "DISABLED");
  });
});

describe("the playground", () => {
  shareGateway({}, false);

  test("shows during typing where the text would go, marks the secret, sends it and shows the stream", async () => {
    await open("/playground");
    const field = page.getByLabel("What is asked for");
    await field.fill("Design a settlement that survives a crash between the ledger and the provider.");
    await page.getByRole("heading", { name: "It would go" }).waitFor();
    expect(await page.locator("mark").count()).toBe(0);
    expect(dashboard.gateway.upstream.received()).toBe(0);

    const secret = ["hunter2", "s3cr3t"].join("-");
    await field.fill(`Why does postgres://admin:${secret}@db.internal:5432/app fail?`);
    await page.locator("mark").waitFor();
    expect(await page.locator("mark").innerText()).toBe(secret);
    expect(page.url()).not.toContain("hunter2");

    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("link", { name: "its decision" }).waitFor();
    await page.getByText("whole").waitFor();
    expect((await page.locator("pre.answer").last().innerText()).length).toBeGreaterThan(0);
    const request = await dashboard.gateway.upstream.request(0);
    expect(JSON.stringify(request.body)).not.toContain(secret);
    await dashboard.recorded(1);
    await page.getByRole("link", { name: "its decision" }).click();
    await page
      .getByRole("complementary", { name: "Opened decision" })
      .getByRole("heading", { name: "Money" })
      .waitFor();
  });
});

describe("the policy", () => {
  shareGateway({ policy: { routing: { flash_below: 80 } } });

  test("has its changed values marked, and an edited one is validated without being applied", async () => {
    await open("/policy");
    const row = page.getByRole("row").filter({ hasText: "routing.flash_below" });
    await row.getByText("default 90").waitFor();
    expect(await row.getAttribute("data-marked")).toBe("true");
    expect(await page.getByRole("row").filter({ hasText: "routing.pro_from" }).getAttribute("data-marked")).toBeNull();

    const editor = page.getByLabel("Edited policy");
    const alert = page.getByRole("alert");
    await editor.fill("routing:\n  flash_belo: 10\n");
    await page.getByRole("button", { name: "Check" }).click();
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/^routing\.flash_belo \(line 2\) .+ \(did you mean flash_below\?\)$/i);
    await editor.fill("routing:\n  flash_below: 60\n");
    await page.getByRole("button", { name: "Check" }).click();
    await page.getByText("routing.flash_below: 80 → 60").waitFor();
    expect(dashboard.gateway.gateway.ports.config().policy.routing.flash_below).toBe(80);

    // The effect on recorded requests: those below the old threshold stay on their model.
    await page.getByRole("button", { name: "Backtest" }).click();
    await page.getByText(/would have gone elsewhere/).waitFor();
    await page.getByRole("row").filter({ hasText: "flash" }).first().waitFor();
    // One that fails leaves nothing of the one before it.
    await editor.fill("budget:\n  per_day_hard_usd: -1\n");
    await page.getByRole("button", { name: "Backtest" }).click();
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/^The edited policy is not valid\.\s+budget\.per_day_hard_usd \(line 2\) /);
    expect(await page.getByText(/would have gone elsewhere/).count()).toBe(0);
    await page.getByRole("button", { name: "As in force" }).click();
    await alert.waitFor({ state: "detached" });

    await page.getByRole("searchbox", { name: "Search the policy" }).fill("per_goal_hard");
    await page.getByRole("row").filter({ hasText: "budget.per_goal_hard_usd" }).waitFor();
    expect(await page.getByRole("row").filter({ hasText: "routing." }).count()).toBe(0);
  });
});
