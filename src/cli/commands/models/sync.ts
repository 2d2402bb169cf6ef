import { existsSync, readFileSync, realpathSync } from "node:fs";
import { extname } from "node:path";
import type { Command } from "commander";
import { exitCodes, exitWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { progressBar } from "#cli/progress.ts";
import { replaceFile } from "#cli/replace-file.ts";
import { storedPrices } from "#cli/stored-prices.ts";
import { loadPolicy } from "#config/load-policy.ts";
import { formatProblems } from "#config/problem.ts";
import { parseSettings, type Settings } from "#config/settings.ts";
import type { Model, ModelRegistry } from "#domain/model.ts";
import { loadRegistry } from "#models/load-registry.ts";
import { emptyPriceBook } from "#models/price-book/price-book.ts";
import { listingsIn } from "#models/price-book/price-list.ts";
import { hostsIn } from "#models/sync/host-list.ts";
import { changesBetween, diffOf, type HostsRead, increasesFirst, type ModelDiff } from "#models/sync/registry-diff.ts";
import { withPrices } from "#models/sync/written-registry.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { readModelHosts, readModelList } from "#upstream/aggregator.ts";
import { diffText, recordOf } from "./sync-report.ts";

interface SyncOptions {
  readonly write?: true;
  readonly json?: true;
}

/** Adds `models sync`: the registry against the aggregator's lists. */
export function addSyncCommand(models: Command): void {
  models
    .command("sync")
    .description("compare the registry's prices with the aggregator's lists; write them only with --write")
    .argument("[file]", "model registry file; MODEL_REGISTRY_PATH, else the shipped one, when absent")
    .option("--write", "write the listed prices into the file; comments and all other fields stay")
    .option("--json", "print {ok, complete, written, models}; prices in USD per million tokens, as text")
    .action((file: string | undefined, options: SyncOptions) => syncModels(file, options));
}

async function syncModels(file: string | undefined, options: SyncOptions): Promise<void> {
  const fail = (code: 1 | 2, problem: string) => {
    if (options.json) printJson({ ok: false, problem });
    else console.error(problem);
    exitWith(code);
  };
  const parsed = parseSettings(process.env);
  if (parsed.kind === "invalid") return fail(exitCodes.badUsage, formatProblems(parsed.problems));
  const { settings } = parsed;
  if (settings.upstream.kind === "demo") {
    return fail(exitCodes.badUsage, "demo mode has no aggregator: set UPSTREAM_API_KEY or UPSTREAM_BASE_URL");
  }
  const path = file ?? settings.registryPath;
  if (options.write && path === undefined) {
    return fail(exitCodes.badUsage, "say which file to write: `models sync FILE --write`, or MODEL_REGISTRY_PATH");
  }
  const isNew = path !== undefined && options.write === true && !existsSync(path);
  const loaded = loadRegistry(isNew ? undefined : path);
  if (loaded.kind === "invalid") return fail(exitCodes.badUsage, formatProblems(loaded.problems));

  const read = await readDiffs(loaded.registry, settings, settings.upstream);
  if (read.kind === "failed") {
    return fail(exitCodes.failed, `the aggregator's list could not be read: ${read.detail}. Nothing was written.`);
  }
  const { diffs } = read;
  const complete = diffs.every(({ problem }) => problem === undefined);
  let written: string | null = null;
  let refusal: string | undefined;
  if (options.write && path !== undefined) {
    const result = complete ? writePrices(path, isNew, diffs) : incomplete;
    if (result.kind === "refused") refusal = result.problem;
    else if (result.kind === "written") written = path;
  }
  if (options.json) {
    const problem = refusal === undefined ? {} : { problem: refusal };
    printJson({ ok: refusal === undefined, complete, written, models: diffs.map(recordOf), ...problem });
  } else {
    print(diffText(diffs));
    if (written !== null) print(`\nWritten: ${written}. Running gateways take it over within seconds.`);
    else if (options.write && refusal === undefined) print("\nNothing to write: the file states these prices.");
    if (refusal !== undefined) console.error(`\nNothing was written: ${refusal}`);
  }
  if (refusal !== undefined || !complete) exitWith(exitCodes.failed);
}

type WriteResult =
  | { readonly kind: "written" }
  | { readonly kind: "unchanged" }
  | { readonly kind: "refused"; readonly problem: string };

const incomplete: WriteResult = {
  kind: "refused",
  problem: "the aggregator's data is not complete for every enabled model. Correct or disable those named above.",
};

/** Both lists, for every model of the registry. */
async function readDiffs(
  registry: ModelRegistry,
  settings: Settings,
  { baseUrl, apiKey }: Settings["upstream"] & { kind: "aggregator" },
): Promise<
  { readonly kind: "ok"; readonly diffs: readonly ModelDiff[] } | { readonly kind: "failed"; readonly detail: string }
> {
  const clock = systemClock;
  const timers = timerWheel({ clock });
  const reply = await readModelList({ baseUrl, clock, timers });
  if (reply.kind === "failed") return reply;
  const models = [...registry.models.values()];
  const listings = listingsIn(reply.list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const policy = loadPolicy(settings.policyPath);
  const stored = policy.kind === "ok" ? await storedPrices(settings, policy.policy) : undefined;
  const book = stored?.kind === "stored" ? stored.book : emptyPriceBook;
  const bar = progressBar("Reading hosts", models.length);
  const diffs: ModelDiff[] = [];
  for (const model of models) {
    const options = { baseUrl, clock, timers, ...(apiKey === undefined ? {} : { apiKey }) };
    // Hosts are not requested for models that are disabled or not listed.
    const listing = listings.get(model.upstreamId);
    const hosts: HostsRead =
      listing === undefined || !model.enabled
        ? noHosts
        : await hostsOf(model, await readModelHosts(options, model.upstreamId));
    diffs.push(diffOf(model, listing, hosts, book.get(model.upstreamId)?.canonical, clock.now()));
    bar.at(diffs.length);
  }
  bar.end();
  return { kind: "ok", diffs: increasesFirst(diffs) };
}

const noHosts: HostsRead = { kind: "ok", hosts: [] };

function hostsOf(model: Model, reply: Awaited<ReturnType<typeof readModelHosts>>): HostsRead {
  if (reply.kind === "failed") return reply;
  if (reply.kind === "not_found") return { kind: "failed", detail: "the aggregator does not know them" };
  const hosts = hostsIn(reply.answer, model.free);
  return hosts === undefined ? { kind: "failed", detail: "the answer cannot be read" } : { kind: "ok", hosts };
}

/** Writes the listed prices of all paid, enabled models. A file that would not load, or would mean other prices, is not written. */
function writePrices(path: string, isNew: boolean, diffs: readonly ModelDiff[]): WriteResult {
  const updates = diffs.flatMap(({ model, listing, changes }) =>
    model.enabled && !model.free && changes.length > 0 && listing?.price !== undefined
      ? [{ key: model.key, price: listing.price }]
      : [],
  );
  if (updates.length === 0) return { kind: "unchanged" };
  // A symbolic link stays; the file that it points to is replaced.
  const target = isNew ? path : realpathSync(path);
  const text = isNew ? "" : readFileSync(target, "utf8");
  const written = withPrices(text, extname(path).toLowerCase() === ".json", updates);
  if (written.kind === "invalid") return { kind: "refused", problem: written.problem };
  const problem = replaceFile(target, written.text, (temporary) => {
    const again = loadRegistry(temporary);
    if (again.kind === "invalid") return formatProblems(again.problems);
    const wrong = updates.find(({ key, price }) => {
      const model = again.registry.models.get(key);
      return model === undefined || changesBetween(model.price, price).length > 0;
    });
    return wrong === undefined ? undefined : `the file would not state the listed price of ${wrong.key}`;
  });
  return problem === undefined ? { kind: "written" } : { kind: "refused", problem };
}
