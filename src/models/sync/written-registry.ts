import { type Document, isMap, parseDocument } from "yaml";
import type { Price, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { timeOf } from "./registry-diff.ts";

/** New prices for a record of the registry file. */
export interface PriceUpdate {
  readonly key: string;
  readonly price: Price;
}

export type WrittenRegistry =
  | { readonly kind: "ok"; readonly text: string }
  | { readonly kind: "invalid"; readonly problem: string };

/**
 * The text of a registry file with new prices. Comments, order and all other fields stay. `text` is empty for a file that
 * is not there yet. JSON stays JSON.
 */
export function withPrices(text: string, isJson: boolean, updates: readonly PriceUpdate[]): WrittenRegistry {
  for (const { key, price } of updates) {
    if (price.bands?.some(({ fromInputTokens, window }) => fromInputTokens !== undefined && window !== undefined)) {
      const problem = `${key} has a price for long prompts at certain hours, which a registry file cannot state: leave it to the list`;
      return { kind: "invalid", problem };
    }
  }
  const document: Document = parseDocument(text.trim() === "" ? (isJson ? "{}" : "") : text);
  if (document.errors.length > 0) return { kind: "invalid", problem: "the file is not valid YAML or JSON" };
  if (document.contents === null) document.contents = document.createNode({});
  if (!isMap(document.contents)) return { kind: "invalid", problem: "the file does not hold a map `models:`" };
  for (const { key, price } of updates) setPrices(document, key, price);
  const written = isJson
    ? `${JSON.stringify(document.toJS(), null, 2)}\n`
    : document.toString({ lineWidth: 0, flowCollectionPadding: true });
  return { kind: "ok", text: written };
}

function setPrices(document: Document, key: string, price: Price): void {
  const at = ["models", key, "prices"];
  if (!isMap(document.getIn(["models"]))) document.setIn(["models"], document.createNode({}));
  if (!isMap(document.getIn(["models", key]))) document.setIn(["models", key], document.createNode({}));
  if (!isMap(document.getIn(at))) document.setIn(at, document.createNode({}));
  const fields = pricesOf(price);
  for (const name of fieldNames) {
    const value = fields[name];
    if (value === undefined) document.deleteIn([...at, name]);
    else if (typeof value === "number") document.setIn([...at, name], value);
    else document.setIn([...at, name], document.createNode(value));
  }
}

const fieldNames = ["input", "cached_input", "cache_write", "output", "request", "tiers", "windows"] as const;

/** A price as a registry file states it: USD per million tokens. */
function pricesOf(price: Price): { readonly [N in (typeof fieldNames)[number]]?: unknown } {
  const tiers = (price.bands ?? []).flatMap(({ fromInputTokens, rates }) =>
    fromInputTokens === undefined ? [] : [{ from_input_tokens: fromInputTokens, ...ratesOf(rates) }],
  );
  const windows = (price.bands ?? []).flatMap(({ window, rates }) =>
    window === undefined ? [] : [{ from: timeOf(window.fromMinute), to: timeOf(window.toMinute), ...ratesOf(rates) }],
  );
  return {
    ...ratesOf(price),
    ...(tiers.length === 0 ? {} : { tiers }),
    ...(windows.length === 0 ? {} : { windows }),
  };
}

function ratesOf({ input, cachedInput, cacheWrite, output, request }: Partial<Rates>) {
  const named = { input, cached_input: cachedInput, cache_write: cacheWrite, output, request };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, rate]) => (rate === undefined ? [] : [[name, Number(formatUsd(rate))]])),
  );
}
