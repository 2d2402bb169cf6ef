import type { Price } from "#domain/model.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import { holdFor } from "#domain/money/tokens.ts";
import type { StreamContext } from "#pipeline/request-context.ts";

/**
 * What a cancelled call is billed at least, where the aggregator stops billing on cancel: all input and the output
 * received. Undefined where cancelling does not stop the billing.
 */
export function abandonedCost(
  price: Price,
  hold: NanoUsd,
  outputBytes: number,
  { configuration, inputTokensBound }: StreamContext,
): NanoUsd | undefined {
  if (!configuration.policy.upstream.billing_stops_on_cancel) return undefined;
  const cost = holdFor({ inputTokens: inputTokensBound, outputTokens: outputBytes, choices: 1 }, price);
  return cost < hold ? cost : hold;
}
