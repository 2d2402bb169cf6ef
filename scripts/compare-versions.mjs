// `node scripts/compare-versions.mjs OTHER_CHECKOUT [--data FOLDER] [--only WORD] [--shard I/N] [--json FILE] [--show N] [--ignore PATTERN]`
// Starts this checkout and another one against the same scripted upstream, sends both the same requests, one at a time, and prints every
// difference: status, headers, answer bytes, forwarded bodies, decision record, and in the end accounts, audit and metrics. Exit code 1 if
// there is one. Both checkouts must be installed. `--data` is a folder with development sets (agent-requests, agent-runs, routing-dev,
// secrets-dev); groups whose set is absent are skipped, and named. `--only` runs the groups whose name contains WORD.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { comparisonGroups } from "./compare/cases.mjs";
import { startGateway } from "./compare/gateway.mjs";
import { differences, normalized } from "./compare/normalize.mjs";
import { startUpstream } from "./compare/upstream.mjs";
import { root } from "./toolchain.mjs";

const [other, ...rest] = process.argv.slice(2);
const options = { data: join(root, "..", "shared"), only: "", shard: "0/1", show: "40" };
for (let i = 0; i < rest.length; i += 2) options[rest[i].replace(/^--/, "")] = rest[i + 1];
if (other === undefined || other.startsWith("--")) {
  console.error("usage: node scripts/compare-versions.mjs OTHER_CHECKOUT [--data FOLDER] [--only WORD] [--json FILE]");
  process.exit(2);
}

const [shard, shards] = options.shard.split("/").map(Number);
const checkouts = [resolve(other), root];
const found = [];
/** Differences that are intended, by a regular expression of their line. */
const ignored = options.ignore === undefined ? undefined : new RegExp(options.ignore);
let sent = 0;

for (const group of comparisonGroups(options.data)) {
  if (!group.name.includes(options.only)) continue;
  if (group.skipped !== undefined) {
    console.log(`skipped  ${group.name}: ${group.skipped}`);
    continue;
  }
  const sides = await Promise.all(checkouts.map((checkout) => openSide(checkout, group)));
  const before = found.length;
  const ids = [];
  try {
    for (const [index, one] of [...group.cases()].entries()) {
      if (index % shards !== shard) continue;
      const [left, right] = await Promise.all(sides.map((side) => observe(side, one)));
      report(`${group.name}/${one.name}`, normalized(left), normalized(right));
      ids.push(
        [one.name, left.answer, right.answer].map((seen) => seen.headers?.["x-smart-gateway-decision-id"] ?? seen),
      );
    }
    // Records are written behind the requests.
    await new Promise((done) => setTimeout(done, 2_500));
    for (const [name, ...answers] of ids) {
      if (answers.some((id) => typeof id !== "string")) continue;
      const [left, right] = await Promise.all(sides.map(({ gateway }, side) => gateway.decision(answers[side])));
      report(`${group.name}/${name}/record`, normalized(left), normalized(right));
    }
    const [left, right] = await Promise.all(sides.map(({ gateway }) => gateway.totals()));
    report(`${group.name}/totals`, normalized(left), normalized(right));
  } finally {
    await Promise.all(sides.map(({ gateway, upstream }) => Promise.all([gateway.stop(), upstream.stop()])));
  }
  sent += ids.length;
  console.log(
    `${String(ids.length).padStart(6)} requests  ${String(found.length - before).padStart(4)} differences  ${group.name}`,
  );
}

if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(found, null, 2));
console.log(`${sent} requests, ${found.length} differences`);
process.exit(found.length === 0 ? 0 : 1);

async function openSide(checkout, group) {
  const upstream = await startUpstream();
  const gateway = await startGateway(checkout, upstream.url, group);
  return { upstream, gateway };
}

/** What one version does with a request: what the caller and the upstream see. */
async function observe({ upstream, gateway }, one) {
  upstream.script(one.steps ?? []);
  const answer = await gateway.send(one);
  return { answer, forwarded: upstream.take() };
}

function report(name, left, right) {
  const lines = differences(left, right).filter((line) => ignored === undefined || !ignored.test(line));
  if (lines.length === 0) return;
  found.push({ name, lines });
  if (found.length > Number(options.show)) return;
  console.log(`differs  ${name}`);
  for (const line of lines.slice(0, 8)) console.log(`         ${line}`);
}
