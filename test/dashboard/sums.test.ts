import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { parseUsd } from "#domain/money/money.ts";
import { runCommand } from "../harness/command-line.ts";
import { type Answer, eventually } from "../harness/gateway.ts";
import { type DashboardGateway, startDashboard } from "./fixture.ts";
import { closeBrowser, type OpenedPage, openPage } from "./page.ts";

let dashboard: DashboardGateway;
let opened: OpenedPage;
beforeEach(async () => {
  dashboard = await startDashboard();
});
afterEach(async () => {
  const problems = [...opened.problems];
  await opened[Symbol.asyncDispose]();
  await dashboard[Symbol.asyncDispose]();
  expect(problems).toEqual([]);
});
afterAll(closeBrowser);

/** What the opened list shows: the costs of its rows added up, and what it says itself. */
async function sumsOfList(): Promise<{ rows: number; cost: number; saidRequests: number; saidCost: number }> {
  await opened.page.locator("[data-total-requests]").waitFor();
  return opened.page.evaluate(`(() => {
    const rows = [...document.querySelectorAll("tr.link")];
    const costs = rows.map((row) => Number(row.querySelector("[data-cost]").dataset.cost));
    return {
      rows: rows.length,
      cost: costs.reduce((sum, cost) => sum + cost, 0),
      saidRequests: Number(document.querySelector("[data-total-requests]").dataset.totalRequests),
      saidCost: Number(document.querySelector("[data-total-cost]").dataset.totalCost),
    };
  })()`);
}

async function commandLine(...args: string[]): Promise<Answer> {
  const { code, err, json } = await runCommand(args, { env: { DATABASE_URL: dashboard.database } });
  if (code !== 0) throw new Error(`${args.join(" ")}: ${err}`);
  return json();
}

describe("the page's sums", () => {
  test("are those of the list behind each number, of the ledger and of the command line", async () => {
    const sent = await dashboard.traffic();
    const { spent } = await dashboard.gateway.ledger(() => true);
    expect(spent).toBeGreaterThan(0);

    opened = await openPage(dashboard.url);
    const { page } = opened;
    const links = page.locator("main a[href*='/dashboard/decisions']", { hasText: /^\d+$/ });
    await links.first().waitFor();
    // Every count of the page, and the list that it leads to.
    const numbers: { text: string; href: string }[] = await page.evaluate(
      `[...document.querySelectorAll("main a[href*='/dashboard/decisions']")]
        .filter((link) => /^\\d+$/.test(link.innerText)).map((link) => ({ text: link.innerText, href: link.href }))`,
    );
    expect(numbers.length).toBeGreaterThan(10);
    for (const { text, href } of numbers) {
      await page.goto(href);
      await eventually(async () => (await page.locator(".skeleton").count()) === 0);
      const rows = await page.locator("tr.link").count();
      expect({ href, rows }).toEqual({ href, rows: Number(text) });
    }

    // The sessions of the budgets' view, and the lists behind them.
    await page.goto(`${dashboard.url}/budgets`);
    const section = page.locator("section", { has: page.getByRole("heading", { name: "Sessions" }) });
    await section.locator("tbody tr").first().waitFor();
    const sessions: { name: string; text: string; href: string; cost: string }[] = await page.evaluate(
      `[...document.querySelectorAll("table")].find((table) => table.caption?.innerText.startsWith("Sessions"))
        .querySelectorAll("tbody tr").values().map((row) => ({
          name: row.querySelector("th").innerText,
          text: row.querySelector("a").innerText,
          href: row.querySelector("a").href,
          cost: row.querySelector("[title$=USD]").title,
        })).toArray()`,
    );
    expect(sessions.map(({ name }) => name)).toContain("nightly-run-of-the-build-farm");
    for (const { text, href, cost } of sessions) {
      await page.goto(href);
      await page.locator("tr.link").first().waitFor();
      const costs: number[] = await page.evaluate(
        `[...document.querySelectorAll("tr.link [data-cost]")].map((cell) => Number(cell.dataset.cost))`,
      );
      const sum = costs.reduce((total, each) => total + each, 0);
      expect({ href, rows: costs.length, cost: sum }).toEqual({
        href,
        rows: Number(text),
        cost: parseUsd(cost.replace(" USD", "")) as number,
      });
    }

    await page.goto(`${dashboard.url}/decisions?range=today`);
    const list = await sumsOfList();
    expect(list).toEqual({ rows: sent, cost: spent, saidRequests: sent, saidCost: spent });

    const { accounts } = await commandLine("budgets", "show", "--json");
    const day = accounts.find(({ kind }: Answer) => kind === "day") ?? accounts[0];
    expect(parseUsd(String(day.spent_usd)) as number).toBe(spent);

    await page.goto(`${dashboard.url}/budgets`);
    const text = await page.locator("main dl.facts div").first().locator("dd span").getAttribute("title");
    expect(parseUsd((text ?? "").replace(" USD", "")) as number).toBe(spent);
  });

  test("count in UTC days whatever the reader's zone is, which is said beside them", async () => {
    await dashboard.traffic();
    const day = new Date().toISOString().slice(0, 10);
    const seen: string[][] = [];
    for (const timezoneId of ["Pacific/Auckland", "America/Los_Angeles"]) {
      opened = await openPage(dashboard.url, { timezoneId });
      const { page } = opened;
      await page.getByRole("heading", { name: `Spent on UTC day ${day}` }).waitFor();
      const label = page.getByText(`UTC day ${day}, ends`).first();
      const end = new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000);
      const local = new Intl.DateTimeFormat("en-GB", { timeZone: timezoneId, hour: "2-digit", minute: "2-digit" });
      expect(await label.innerText()).toContain(`ends ${local.format(end)} local time`);
      const spent = await page.locator("dl.facts div", { hasText: "spent" }).locator("dd a").innerText();

      await page.goto(`${dashboard.url}/decisions`);
      const time = page.locator("tr.link time").first();
      const at = Date.parse((await time.getAttribute("datetime")) ?? "");
      const clock = new Intl.DateTimeFormat("en-GB", { timeZone: timezoneId, timeStyle: "medium" }).format(at);
      expect(await time.innerText()).toContain(clock);
      expect(await time.getAttribute("title")).toContain(`UTC day ${new Date(at).toISOString().slice(0, 10)}`);

      await page.getByLabel("Time zone").selectOption("utc");
      await page.getByText(new Date(at).toISOString().slice(11, 19)).first().waitFor();
      seen.push([spent]);
      if (timezoneId === "Pacific/Auckland") await opened[Symbol.asyncDispose]();
    }
    expect(seen[0]).toEqual(seen[1] ?? []);
  });
});

describe("an empty installation", () => {
  test("says what to do first, with a command to copy, on each view that has nothing yet", async () => {
    opened = await openPage(dashboard.url);
    const { page } = opened;
    await page.getByText("Nothing needs you.").waitFor();
    const command = page.locator(".command code").first();
    expect(await command.innerText()).toMatch(/curl|smart-gateway/);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the command" }).first().click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await command.innerText());

    await page.goto(`${dashboard.url}/decisions`);
    await page.getByText("No request came in this range.").waitFor();
    expect(await page.locator(".command code").innerText()).toStartWith(`curl ${dashboard.gateway.url}/v1/`);
    await page.goto(`${dashboard.url}/budgets`);
    await page.getByText("No goal has spent yet.").waitFor();
  });

  test("shows its first request without a reload", async () => {
    opened = await openPage(`${dashboard.url}/decisions`);
    await opened.page.locator(".live[data-state=open]").waitFor();
    await dashboard.gateway.chat();
    await opened.page.locator("tr.link").waitFor();
  });
});
