import type { Config } from "#config/load-config.ts";
import type { Settings } from "#config/settings.ts";
import { emptyPriceBook, type PriceBook, withPriceBook } from "#models/price-book/price-book.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import type { Configuration } from "#pipeline/ports.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { type Log, logId } from "#telemetry/log/log.ts";
import { isEnabled } from "#upstream/aggregator.ts";

/** The configuration in force: the files, with the prices of the price book. */
export class LiveConfiguration {
  readonly #settings: Settings;
  readonly #log: Log;
  #loaded: Config | undefined;
  #inForce: Configuration | undefined;
  #book: PriceBook = emptyPriceBook;
  #onChange: () => void = () => {};

  constructor(settings: Settings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** Applies files that were read. */
  apply(config: Config): void {
    this.#inForce = priced(configurationOf(config, this.#settings, this.#log), config, this.#settings, this.#book);
    this.#loaded = config;
    this.#onChange();
  }

  /** Applies another price book. */
  applyPrices(book: PriceBook): void {
    this.#book = book;
    this.#inForce = priced(this.current(), this.loaded(), this.#settings, book);
  }

  /** Called after each `apply` from now on. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  current(): Configuration {
    if (this.#inForce === undefined) throw new Error("unreachable: applied before the parts are made");
    return this.#inForce;
  }

  /** The files as read, without the price book. */
  loaded(): Config {
    if (this.#loaded === undefined) throw new Error("unreachable: applied before the parts are made");
    return this.#loaded;
  }
}

/** The configuration as requests see it: with the privacy engine that its policy makes, which also knows our own secrets. */
function configurationOf(config: Config, settings: Settings, log: Log): Configuration {
  const secrets = [
    ...(settings.upstream.kind === "aggregator" && settings.upstream.apiKey !== undefined
      ? [{ rule: "gateway_upstream_api_key", value: settings.upstream.apiKey, sentUpstream: true as const }]
      : []),
    ...(settings.dashboardToken === undefined
      ? []
      : [{ rule: "gateway_dashboard_token", value: settings.dashboardToken }]),
  ];
  const privacy = privacyEngine(config.policy.privacy, secrets);
  for (const rule of privacy.disabledRules) log("privacy_rule_disabled", { rule: logId(rule) });
  const priceLimit = isChosen(config.policy.upstream.price_limit, settings);
  return { ...config, fields: fieldRulesOf(config.policy), privacy, priceLimit };
}

/** The configuration with the prices of its registry and the book, where the policy wants that. */
function priced(configuration: Configuration, config: Config, settings: Settings, book: PriceBook): Configuration {
  const inForce = isChosen(config.policy.upstream.price_book, settings) ? book : emptyPriceBook;
  return { ...configuration, registry: withPriceBook(config.registry, inForce) };
}

/** In demo mode `auto` means off: the simulated aggregator has no such pages. */
export function isChosen(choice: "auto" | "on" | "off", { upstream }: Settings): boolean {
  return isEnabled(choice, upstream.kind === "demo" ? undefined : upstream.baseUrl);
}
