import { textTable } from "#cli/table.ts";
import { formatUsd } from "#domain/money/money.ts";
import { highestRates } from "#domain/money/prices.ts";
import { growthOf, type HostRow, isIncrease, type ModelDiff, type RateChange } from "#models/sync/registry-diff.ts";
import { priceRecord } from "./price-record.ts";

/** What `models sync` prints. */
export function diffText(diffs: readonly ModelDiff[]): string {
  const rows = diffs.flatMap(({ model, changes }) =>
    changes.map((change) => [
      model.key,
      rateTitles[change.rate],
      change.band,
      change.registry === undefined ? "-" : formatUsd(change.registry),
      change.listed === undefined ? "-" : formatUsd(change.listed),
      changeText(change),
    ]),
  );
  const sections = [
    rows.length === 0
      ? "Every price that the aggregator lists is the registry's."
      : `${textTable(["MODEL", "RATE", "BAND", "REGISTRY", "LISTED", "CHANGE"], rows)}\n\nUSD per million tokens, or per request. LISTED: the price of the host that the aggregator prefers now.`,
    ...hostsText(diffs),
    ...noticesText(diffs),
  ];
  return sections.join("\n\n");
}

const rateTitles: { readonly [R in RateChange["rate"]]: string } = {
  input: "input",
  output: "output",
  cachedInput: "cached input",
  cacheWrite: "cache write",
  request: "request",
};

function changeText(change: RateChange): string {
  const growth = growthOf(change);
  if (change.listed === undefined) return "not listed apart";
  if (!Number.isFinite(growth)) return "new";
  const percent = Math.round((growth - 1) * 1_000) / 10;
  return `${isIncrease(change) ? "higher" : "lower"}, ${percent > 0 ? "+" : ""}${percent} %`;
}

function hostsText(diffs: readonly ModelDiff[]): string[] {
  const rows = diffs.flatMap(({ model, hosts }) => {
    if (hosts.length === 0) return [];
    const within = hosts.filter((host) => host.within);
    const above = hosts.filter((host) => !host.within);
    return [
      [
        model.key,
        `${within.length} of ${hosts.length}`,
        within.map(hostText).join(", ") || "none",
        above.map((host) => hostText(host) + priceText(host)).join(", ") || "-",
      ],
    ];
  });
  if (rows.length === 0) return [];
  return [
    `${textTable(["MODEL", "HOSTS LEFT", "WITHIN THE REGISTRY'S PRICE", "ABOVE IT"], rows)}\n\nCalls with a price limit go only to the hosts that are left.`,
  ];
}

function hostText({ name, uptime, down }: HostRow): string {
  if (down) return `${name} (out of service)`;
  return uptime === undefined || uptime >= 95 ? name : `${name} (up ${Math.round(uptime)} %)`;
}

function priceText({ price }: HostRow): string {
  if (price === undefined) return " (no readable price)";
  const { input, output } = highestRates(price, Number.MAX_SAFE_INTEGER);
  return ` (${formatUsd(input)} / ${formatUsd(output)})`;
}

function noticesText(diffs: readonly ModelDiff[]): string[] {
  const lines = diffs.flatMap(({ model, problem, notices, hosts }) => [
    ...(problem === undefined ? [] : [`${model.key}: ${problem}`]),
    // The problem already says that the model is not listed.
    ...notices.filter(({ reason }) => reason !== "not_listed").map(({ detail }) => `${model.key}: ${detail}`),
    ...(hosts.length > 0 && hosts.every(({ within }) => !within)
      ? [`${model.key}: no host is within the registry's price; calls with a price limit are refused`]
      : []),
    ...sizesText(model.key, model, hosts),
  ]);
  return lines.length === 0 ? [] : [`To look at:\n${lines.map((line) => `  ${line}`).join("\n")}`];
}

/** Hosts that take shorter prompts or give shorter answers than the registry says. */
function sizesText(
  key: string,
  { contextTokens, maxOutputTokens }: { contextTokens: number; maxOutputTokens: number },
  hosts: readonly HostRow[],
): string[] {
  const within = hosts.filter(({ within, down }) => within && !down);
  const largest = (of: (host: HostRow) => number | undefined) =>
    within.length === 0 || within.some((host) => of(host) === undefined)
      ? undefined
      : Math.max(...within.map((host) => of(host) ?? 0));
  const [context, output] = [largest((host) => host.contextTokens), largest((host) => host.maxOutputTokens)];
  return [
    ...(context !== undefined && context < contextTokens
      ? [`${key}: no host within the price takes more than ${context} tokens; context_tokens is ${contextTokens}`]
      : []),
    ...(output !== undefined && output < maxOutputTokens
      ? [`${key}: no host within the price writes more than ${output} tokens; max_output_tokens is ${maxOutputTokens}`]
      : []),
  ];
}

/** One model of `--json`; prices as text, so that nothing is rounded. */
export function recordOf({ model, listing, changes, notices, hosts, problem }: ModelDiff) {
  return {
    key: model.key,
    upstream_id: model.upstreamId,
    enabled: model.enabled,
    free: model.free,
    price_from: model.priceSource?.kind ?? "shipped",
    listed: listing !== undefined,
    canonical_id: listing?.canonical ?? null,
    expires: listing?.expiresMs === undefined ? null : new Date(listing.expiresMs).toISOString(),
    listed_prices: listing?.price === undefined ? null : priceRecord(listing.price),
    changes: changes.map((change) => ({
      band: change.band,
      rate: change.rate === "cachedInput" ? "cached_input" : change.rate === "cacheWrite" ? "cache_write" : change.rate,
      registry: change.registry === undefined ? null : formatUsd(change.registry),
      listed: change.listed === undefined ? null : formatUsd(change.listed),
      increase: isIncrease(change),
    })),
    notices: notices.map(({ reason, detail }) => ({ reason, detail })),
    hosts: hosts.map(({ name, within, down, uptime, contextTokens, maxOutputTokens, price }) => ({
      name,
      within_price_limit: within,
      in_service: !down,
      uptime_percent: uptime ?? null,
      context_tokens: contextTokens ?? null,
      max_output_tokens: maxOutputTokens ?? null,
      prices: price === undefined ? null : priceRecord(price),
    })),
    problem: problem ?? null,
  };
}
