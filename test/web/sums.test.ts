import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { parseUsd } from "#domain/money/money.ts";
import { runCommand } from "../harness/command-line.ts";
import { type Answer, eventually } from "../harness/gateway.ts";
import { type DashboardGateway, startDashboard } from "./fixture.ts";
import { closeBrowser, closeWithoutProblems, type OpenedPage, openPage } from "./page.ts";

let dashboard: DashboardGateway;
let opened: OpenedPage;
beforeEach(async () => {
  dashboard = await startDashboard();
});
afterEach(() => closeWithoutProblems(opened, dashboard));
afterAll(closeBrowser);

/** The sums that the opened list shows: the costs of its rows added up, and its own totals. */
async function sumsOfList(): Promise<{ rows: number; cost: number; saidRequests: number; saidCost: number }> {
  const total = opened.page.locator("[data-total-requests]");
  const saidRequests = Number(await total.getAttribute("data-total-requests"));
  const saidCost = Number(await opened.page.locator("[data-total-cost]").getAttribute("data-total-cost"));
  return { ...(await listed()), saidRequests, saidCost };
}

/** The rows of the opened list, counted, and their costs added up. */
function listed(): Promise<{ rows: number; cost: number }> {
  return opened.page.evaluate(`(() => {
    const rows = [...document.querySelectorAll("tr.link")];
    const costs = rows.map((row) => Number(row.querySelector("[data-cost]").dataset.cost));
    return { rows: rows.length, cost: costs.reduce((sum, cost) => sum + cost, 0) };
  })()`);
}

/** Every count and every amount in the page's tables and figures, and the list to which it links. */
function linkedNumbers(within = "main"): Promise<{ text: string; usd: string; href: string }[]> {
  return opened.page.evaluate(`[...document.querySelectorAll("${within}")].flatMap((part) =>
    [...part.querySelectorAll("a[href*='/dashboard/decisions']")].flatMap((link) => {
      const usd = link.closest("table")?.contains(link) ? link.querySelector("[title$=USD]")?.title : undefined;
      return usd === undefined && !/^\\d+$/.test(link.innerText)
        ? []
        : [{ text: link.innerText, usd: (usd ?? "").replace(" USD", ""), href: link.href }];
    }))`);
}

/** The spend of a UTC day on the command line, in nano-USD: by the ledger, and by the sum of the records. */
async function spentOnCommandLine(day: string, zone = "UTC"): Promise<{ ledger: number; records: number }> {
  const run = async (args: readonly string[]): Promise<string> => {
    const { code, err, out } = await runCommand(args, { env: { DATABASE_URL: dashboard.database, TZ: zone } });
    if (code !== 0) throw new Error(`${args.join(" ")}: ${err}`);
    return out;
  };
  const { days } = JSON.parse(await run(["budgets", "show", "--json"]));
  const account = days.find(({ name }: Answer) => name === day);
  const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
  const lines = (await run(["decisions", "export", "--since", day, "--until", next])).trim().split("\n");
  const records = lines.reduce((sum, line) => sum + (line === "" ? 0 : JSON.parse(line).cost_nano_usd), 0);
  return { ledger: account?.spent_nano_usd ?? 0, records };
}

describe("the page's sums", () => {
  test("are those of the list behind each number, of the ledger and of the command line", async () => {
    const sent = await dashboard.traffic();
    const { spent } = await dashboard.gateway.ledger(() => true);
    expect(spent).toBeGreaterThan(0);

    opened = await openPage(dashboard.url);
    const { page } = opened;
    await page.locator("main a[href*='/dashboard/decisions']", { hasText: /^\d+$/ }).first().waitFor();
    const numbers = await linkedNumbers();
    await page.goto(`${dashboard.url}/budgets`);
    await page.getByRole("table", { name: "Sessions" }).locator("tbody tr").first().waitFor();
    const sessions = await linkedNumbers("tr:has([data-label=last])");
    expect([numbers.length > 20, sessions.length > 4]).toEqual([true, true]);
    for (const [href, linked] of Map.groupBy([...numbers, ...sessions], ({ href: each }) => each)) {
      await page.goto(href);
      await eventually(async () => (await page.locator(".skeleton").count()) === 0);
      const { rows, cost } = await listed();
      for (const { text, usd } of linked) {
        const shown = usd === "" ? Number(text) : (parseUsd(usd) as number);
        expect({ href, is: usd === "" ? rows : cost }).toEqual({ href, is: shown });
      }
    }

    await page.goto(`${dashboard.url}/decisions?range=today`);
    expect(await sumsOfList()).toEqual({ rows: sent, cost: spent, saidRequests: sent, saidCost: spent });
    expect(await spentOnCommandLine(new Date().toISOString().slice(0, 10))).toEqual({ ledger: spent, records: spent });
    await page.goto(`${dashboard.url}/budgets`);
    const text = await page.locator("main dl.facts div").first().locator("dd span").getAttribute("title");
    expect(parseUsd((text ?? "").replace(" USD", "")) as number).toBe(spent);
  });

  test.each(["Pacific/Auckland", "America/Los_Angeles"])(
    "count UTC days, with records on both sides of midnight, for a reader in %s",
    async (timezoneId) => {
      await dashboard[Symbol.asyncDispose]();
      const midnight = Date.UTC(2026, 10, 23);
      let nowMs = midnight - 20_000;
      const clock = { now: () => nowMs, monotonic: () => performance.now() };
      dashboard = await startDashboard({ overrides: { clock } });
      const send = async (letters: number): Promise<void> => {
        nowMs += 1_000;
        const messages = [{ role: "user", content: "x".repeat(letters) }];
        await (await dashboard.gateway.chat({ messages }, { "x-session-id": "s1", "x-goal-id": "late" })).text();
      };
      for (const letters of [100, 200, 300]) await send(letters);
      await dashboard.recorded(3);
      const { spent: yesterday } = await dashboard.gateway.ledger();
      nowMs = midnight + 5_000;
      for (const letters of [4_000, 5_000]) await send(letters);
      await dashboard.recorded(5);
      const { spent: today } = await dashboard.gateway.ledger();

      opened = await openPage(dashboard.url, { timezoneId });
      const { page } = opened;
      await page.getByText("UTC day 2026-11-23, ends").first().waitFor();
      const local = new Intl.DateTimeFormat("en-GB", { timeZone: timezoneId, timeStyle: "medium" });
      const ends = local.format(midnight + 86_400_000).slice(0, 5);
      expect(await page.getByText("UTC day 2026-11-23, ends").first().innerText()).toContain(`ends ${ends} local time`);
      await page.goto(`${dashboard.url}/decisions?range=today`);
      expect(await sumsOfList()).toEqual({ rows: 2, cost: today, saidRequests: 2, saidCost: today });
      await page.goto(`${dashboard.url}/decisions?from_ms=${midnight - 86_400_000}&to_ms=${midnight}`);
      expect(await sumsOfList()).toEqual({ rows: 3, cost: yesterday, saidRequests: 3, saidCost: yesterday });
      // The newest row has the reader's local time, whose date may differ from the UTC day.
      await page.goto(`${dashboard.url}/decisions?range=24h`);
      await page.locator("tr.link").first().waitFor();
      const times: { text: string; title: string }[] = await page.evaluate(
        `Array.from(document.querySelectorAll("tr.link time"), ({ innerText, title }) => ({ text: innerText, title }))`,
      );
      const days = times.map(({ title }) => title.slice(-10));
      expect(days).toEqual([...Array(2).fill("2026-11-23"), ...Array(3).fill("2026-11-22")]);
      expect(times[0]?.text).toContain(local.format(midnight + 7_000));
      await page.getByLabel("Time zone").selectOption("utc");
      await page.getByText("00:00:07").first().waitFor();
      expect(await spentOnCommandLine("2026-11-22", timezoneId)).toEqual({ ledger: yesterday, records: yesterday });
    },
  );
});

describe("an empty installation", () => {
  test("says what to do first, with a command to copy, on each empty view", async () => {
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
});
