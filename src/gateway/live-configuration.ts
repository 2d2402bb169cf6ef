import type { Config } from "#config/load-config.ts";
import type { Policy } from "#config/policy.ts";
import type { Settings } from "#config/settings.ts";
import { emptyPriceBook, type PriceBook, withPriceBook } from "#models/price-book/price-book.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import type { Configuration } from "#pipeline/ports.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type Log, logId } from "#telemetry/log/log.ts";
import { isEnabled, wantedReasoning } from "#upstream/aggregator.ts";

/** What the policy may leave to the upstream: on with a known aggregator. */
type Choice = "price_book" | "price_limit" | "key_usage" | "generation_lookup";

/** The configuration in force: the files, with the prices of the price book. */
export class LiveConfiguration {
  readonly #settings: Settings;
  readonly #log: Log;
  /** Asked for every answer; parsing the base URL is the expensive part, so it is done once. */
  readonly #isKnownAggregator: boolean;
  readonly #wantedReasoning: Configuration["wantedReasoning"];
  #loaded: Config;
  #inForce: Configuration;
  #book: PriceBook = emptyPriceBook;
  /** The key that calls go out with. */
  upstreamKey: string | undefined;
  /** Called after each `apply`. */
  onChange: () => void = () => {};
  onUpstreamKey: (key: string) => void = () => {};

  constructor(settings: Settings, log: Log, config: Config) {
    this.#settings = settings;
    this.#log = log;
    this.upstreamKey = settings.upstream.kind === "aggregator" ? settings.upstream.apiKey : undefined;
    // In demo mode `auto` means off: the simulator offers what an aggregator does, but only where the policy says `on`.
    const baseUrl = settings.upstream.kind === "demo" ? undefined : settings.upstream.baseUrl;
    this.#isKnownAggregator = isEnabled("auto", baseUrl);
    this.#wantedReasoning = baseUrl === undefined ? undefined : wantedReasoning(baseUrl);
    this.#loaded = config;
    this.#inForce = this.#combined();
  }

  /** Applies files that were read. */
  apply(config: Config): void {
    this.#loaded = config;
    this.#inForce = this.#combined();
    this.onChange();
  }

  /** Calls go out with another key from now on. Throws where no header can carry it. */
  applyUpstreamKey(key: string): void {
    this.onUpstreamKey(key);
    this.upstreamKey = key;
    // The privacy engine knows our own secrets.
    this.apply(this.#loaded);
  }

  /** Applies another price book, where the policy wants one. */
  applyPrices(book: PriceBook): void {
    this.#book = book;
    this.#inForce = { ...this.#inForce, registry: this.#pricedRegistry() };
  }

  current(): Configuration {
    return this.#inForce;
  }

  /** The files as read, without the price book. */
  loaded(): Config {
    return this.#loaded;
  }

  policy(): Policy {
    return this.#loaded.policy;
  }

  isChosen(choice: Choice): boolean {
    const chosen = this.policy().upstream[choice];
    return chosen === "auto" ? this.#isKnownAggregator : chosen === "on";
  }

  /** The privacy engine that the policy makes also knows our own secrets. */
  #combined(): Configuration {
    const { policy } = this.#loaded;
    const { dashboardToken } = this.#settings;
    const key = this.upstreamKey;
    const privacy = privacyEngine(policy.privacy, [
      ...(key === undefined ? [] : [{ rule: "gateway_upstream_api_key", value: key, sentUpstream: true as const }]),
      ...(dashboardToken === undefined ? [] : [{ rule: "gateway_dashboard_token", value: dashboardToken }]),
    ]);
    for (const rule of privacy.disabledRules) this.#log("privacy_rule_disabled", { rule: logId(rule) });
    const billed = policy.upstream.failed_calls_billed;
    return {
      ...this.#loaded,
      registry: this.#pricedRegistry(),
      fields: fieldRulesOf(policy),
      privacy,
      priceLimit: this.isChosen("price_limit"),
      failedCallsFree: billed === "auto" ? this.#isKnownAggregator : billed === "never",
      wantedReasoning: this.#wantedReasoning,
    };
  }

  #pricedRegistry() {
    return withPriceBook(this.#loaded.registry, this.isChosen("price_book") ? this.#book : emptyPriceBook);
  }
}
