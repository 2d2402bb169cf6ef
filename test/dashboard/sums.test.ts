import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { parseUsd } from "#domain/money/money.ts";
import { dayAccountOf } from "#ledger/rules/accounts.ts";
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

async function commandLine(args: readonly string[], zone = "UTC"): Promise<string> {
  const { code, err, out } = await runCommand(args, { env: { DATABASE_URL: dashboard.database, TZ: zone } });
  if (code !== 0) throw new Error(`${args.join(" ")}: ${err}`);
  return out;
}

/** The spend of each UTC day on the command line, in nano-USD, the newest first: by the ledger, and by the sum of the records. */
async function daysOnCommandLine(
  days: readonly string[],
  zone?: string,
): Promise<{ ledger: number[]; records: number[] }> {
  const { accounts } = JSON.parse(await commandLine(["budgets", "show", "--json"], zone));
  const ledger = days.map((day) => {
    const account = accounts.find(({ id }: Answer) => id === dayAccountOf(day));
    return parseUsd(String(account?.spent_usd ?? "0")) as number;
  });
  const records: number[] = [];
  for (const day of days) {
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    const lines = (await commandLine(["decisions", "export", "--since", day, "--until", next], zone))
      .trim()
      .split("\n");
    const costs = lines.flatMap((line) => (line === "" ? [] : [JSON.parse(line).cost_nano_usd as number]));
    records.push(costs.reduce((sum, cost) => sum + cost, 0));
  }
  return { ledger, records };
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
    // Every count and every amount of the tables, and the list to which they link.
    const numbers: { text: string; cost: string; href: string }[] = await page.evaluate(
      `[...document.querySelectorAll("main a[href*='/dashboard/decisions']")].flatMap((link) => {
        const cost = link.closest("table.split")?.contains(link) ? link.querySelector("[title$=USD]")?.title : undefined;
        return cost === undefined && !/^\\d+$/.test(link.innerText)
          ? []
          : [{ text: link.innerText, cost: cost ?? "", href: link.href }];
      })`,
    );
    expect(numbers.filter(({ cost }) => cost === "").length).toBeGreaterThan(10);
    expect(numbers.filter(({ cost }) => cost !== "").length).toBeGreaterThan(10);
    for (const [href, linked] of Map.groupBy(numbers, ({ href: each }) => each)) {
      await page.goto(href);
      await eventually(async () => (await page.locator(".skeleton").count()) === 0);
      const { rows, cost } = await listed();
      for (const number of linked) {
        const said = number.cost === "" ? Number(number.text) : (parseUsd(number.cost.replace(" USD", "")) as number);
        expect({ href, is: number.cost === "" ? rows : cost }).toEqual({ href, is: said });
      }
    }

    // The sessions of the budgets view, and the lists to which they link.
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

    const day = new Date().toISOString().slice(0, 10);
    expect(await daysOnCommandLine([day])).toEqual({ ledger: [spent], records: [spent] });

    await page.goto(`${dashboard.url}/budgets`);
    const text = await page.locator("main dl.facts div").first().locator("dd span").getAttribute("title");
    expect(parseUsd((text ?? "").replace(" USD", "")) as number).toBe(spent);
  });

  test("count UTC days in any time zone of the reader, and say so", async () => {
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

describe("the sums of two days, with records on both sides of UTC midnight", () => {
  test.each(["Pacific/Auckland", "America/Los_Angeles"])(
    "are the same on the page, on the command line and in the ledger (%s)",
    async (zone) => {
      await dashboard[Symbol.asyncDispose]();
      const midnight = Date.UTC(2026, 10, 23);
      let nowMs = midnight - 20_000;
      dashboard = await startDashboard({
        overrides: { clock: { now: () => nowMs, monotonic: () => performance.now() } },
      });
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
      expect(yesterday).toBeGreaterThan(0);
      expect(today).toBeGreaterThan(yesterday);

      opened = await openPage(dashboard.url, { timezoneId: zone });
      const { page } = opened;
      await page.getByRole("heading", { name: "Spent on UTC day 2026-11-23" }).waitFor();
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
      expect(times.map(({ title }) => title.slice(-10))).toEqual([
        ...Array(2).fill("2026-11-23"),
        ...Array(3).fill("2026-11-22"),
      ]);
      const local = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeStyle: "medium" });
      expect(times[0]?.text).toContain(local.format(midnight + 7_000));

      expect(await daysOnCommandLine(["2026-11-23", "2026-11-22"], zone)).toEqual({
        ledger: [today, yesterday],
        records: [today, yesterday],
      });
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

  test("shows its first request without a reload", async () => {
    opened = await openPage(`${dashboard.url}/decisions`);
    await opened.page.locator(".live[data-state=open]").waitFor();
    await dashboard.gateway.chat();
    await opened.page.locator("tr.link").waitFor();
  });
});
