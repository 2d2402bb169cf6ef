// How long the dashboard's endpoints take with many records of 30 days in the store, over a socket.
//   node_modules/.bin/bun bench/dashboard.ts [--records 1000000] [--runs 7] [--postgres] [--database URL] [--skip endpoints|page]
// Then how long a browser takes to show the first view, in which it has loaded nothing before.
import { parseArgs } from "node:util";
import { closeBrowser, openPage } from "../test/dashboard/page.ts";
import { start } from "../test/harness/gateway.ts";
import { median } from "./support/quantiles.ts";
import { filledStore, storeOptions } from "./support/records/filled-store.ts";

const { values } = parseArgs({
  options: { ...storeOptions, runs: { type: "string", default: "7" }, skip: { type: "string" } },
});
const runs = Number(values.runs);
await using store = await filledStore(values);
await using gateway = await start({ env: { DATABASE_URL: store.url } });
const base = `${gateway.url}/dashboard/api/`;
const paths = [
  "session",
  "summary?range=24h",
  "summary?range=7d",
  "summary?range=30d",
  "decisions",
  "decisions?range=7d&cause=hard_pro_rule",
  "decisions?range=30d&cause=privacy_free_denied",
  "decisions?range=30d&rule=same_error_count",
  "decisions?range=30d&rule=critical_blast_radius",
  "decisions?range=7d&goal=team-3/goal-1200",
  "decisions?range=30d&goal=team-3/nobody",
  "decisions?range=7d&session=team-3",
  "decisions?range=7d&outcome=refused",
  "decisions?range=7d&model=vendor_v4_pro&status=2xx",
  "decisions?range=30d&status=5xx",
  "decisions?range=30d&alias=smart-router-pro",
  "decisions?range=30d&alias=smart-router-free",
  "decisions?range=30d&tier=free",
  "decisions?range=30d&kind=AUTH",
  "decisions?range=30d&error_class=timeout",
  "decisions?range=30d&cost_state=unknown",
  "decisions?range=30d&action=STOP_FOR_HUMAN",
  "decisions?range=30d&outcome=failed,broken_stream",
  "decisions?range=30d&tier=flash,pro",
  "decisions?range=30d&cause=score_flash,hard_pro_rule",
  "decisions?range=30d&refused_by=upstream&tier=pro",
  "series?metric=requests&by=outcome&range=24h",
  "series?metric=first_token_p95_ms&range=24h",
  "series?metric=cost_nano_usd&by=tier&range=7d",
  "series?metric=requests&by=cause&range=30d",
  "series?metric=first_token_p95_ms&range=7d",
  "series?metric=first_token_p95_ms&range=30d",
  "budgets?range=7d",
  "budgets?range=30d",
  "sessions?range=30d",
  "holds",
  "models?range=7d",
  "policy",
];
if (values.skip !== "endpoints") await measureEndpoints();
if (values.skip !== "page") await measurePage();

/** Times since the page was requested, in milliseconds, by the browser's own clock. */
async function measurePage(): Promise<void> {
  const seen: { readonly needs: number; readonly whole: number }[] = [];
  // The first opening also starts the browser.
  for (let run = 0; run <= runs; run += 1) {
    await using opened = await openPage("about:blank");
    const { page } = opened;
    await page.addInitScript(`new MutationObserver(() => {
      const isThere = (selector, count) => document.querySelectorAll(selector).length >= count;
      if (window.needsMs === undefined && document.body?.innerText.includes("Needs you")) window.needsMs = performance.now();
      if (window.needsMs !== undefined && isThere("canvas", 3) && !isThere(".skeleton", 1)) window.wholeMs ??= performance.now();
    }).observe(document, { childList: true, subtree: true })`);
    await page.goto(`${gateway.url}/dashboard`);
    for (let whole: unknown; typeof whole !== "number"; ) {
      await Bun.sleep(50);
      whole = await page.evaluate("window.wholeMs");
    }
    if (run > 0) seen.push(await page.evaluate("({ needs: window.needsMs, whole: window.wholeMs })"));
  }
  await closeBrowser();
  for (const what of ["needs", "whole"] as const) {
    const times = seen.map((each) => each[what]);
    const name = what === "needs" ? "first view: what needs you" : "first view: with every chart";
    console.log(`${name.padEnd(30)} least ${Math.min(...times).toFixed(0)} ms, median ${median(times).toFixed(0)} ms`);
  }
}

async function measureEndpoints(): Promise<void> {
  const list = await fetch(`${base}decisions?range=7d&limit=1`);
  const { rows } = (await list.json()) as { rows: { decision_id: string }[] }; // the schema of the answer
  paths.push(`decisions/${rows[0]?.decision_id}`);
  console.log("endpoint".padEnd(58), "first", "median", "  max", "(ms)  processor time of gateway and client (ms)");
  for (const path of paths) {
    const times: number[] = [];
    const cpu: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      const begun = performance.now();
      const before = process.cpuUsage();
      const reply = await fetch(base + path);
      await reply.text();
      if (reply.status !== 200) throw new Error(`${path}: ${reply.status}`);
      times.push(performance.now() - begun);
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1_000);
      await Bun.sleep(50);
    }
    const shown = [times[0] ?? 0, median(times), Math.max(...times), median(cpu)];
    console.log(path.slice(0, 58).padEnd(58), ...shown.map((ms) => ms.toFixed(0).padStart(5)));
  }
}
