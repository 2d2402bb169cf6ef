import type { GatewayContext } from "#gateway/gateway-context.ts";
import { operatorText } from "#telemetry/log/log.ts";
import type { Tracing } from "#telemetry/tracing/tracing.ts";

/** A problem of the collector is logged at most once in this time. */
const problemEveryMs = 600_000;

/** The traces that OTEL_* asks for; undefined where it asks for none, and then nothing of OpenTelemetry is loaded. */
export async function openTracing(
  { settings, clock, log, closing }: GatewayContext,
  version: string,
): Promise<Tracing | undefined> {
  const { openTelemetry: wanted, nodeId } = settings;
  if (wanted === undefined) return undefined;
  const { openTelemetry } = await import("#telemetry/tracing/open-telemetry.ts");
  let saidMs = Number.NEGATIVE_INFINITY;
  const onProblem = () => {
    if (clock.monotonic() - saidMs < problemEveryMs) return;
    saidMs = clock.monotonic();
    log("telemetry_export_failed", { detail: operatorText("the collector did not take traces or metrics") });
  };
  const tracing = openTelemetry({ version, nodeId, ...wanted, onProblem });
  closing.addWithTimeout(() => tracing.close());
  return tracing;
}
