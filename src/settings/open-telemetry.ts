/** The export that OTEL_* configures. Absent: no export, and nothing of OpenTelemetry is loaded. */
export interface OpenTelemetrySettings {
  readonly traces: boolean;
  readonly metrics: boolean;
  readonly metricIntervalMs: number;
}

type Env = Readonly<Record<string, string | undefined>>;
const signals = ["traces", "metrics"] as const;

/**
 * Reads the standard variables that decide whether anything is exported; the libraries read the rest. A variable that cannot
 * be followed is a warning and never stops the start: these belong to the environment, not to this program alone.
 */
export function openTelemetryIn(env: Env): {
  readonly openTelemetry?: OpenTelemetrySettings;
  readonly warnings: readonly string[];
} {
  if (env["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return { warnings: [] };
  const warnings: string[] = [];
  const [traces, metrics] = signals.map((signal) => isWanted(signal, env, warnings));
  if (!traces && !metrics) return { warnings };
  const interval = Number(env["OTEL_METRIC_EXPORT_INTERVAL"] || 60_000);
  const metricIntervalMs = Number.isSafeInteger(interval) && interval >= 100 ? interval : 60_000;
  return { openTelemetry: { traces: traces === true, metrics: metrics === true, metricIntervalMs }, warnings };
}

function isWanted(signal: (typeof signals)[number], env: Env, warnings: string[]): boolean {
  const upper = signal.toUpperCase();
  const exporter = env[`OTEL_${upper}_EXPORTER`]?.trim();
  if (exporter === "none") return false;
  if (exporter !== undefined && exporter !== "" && exporter !== "otlp") {
    warnings.push(`OTEL_${upper}_EXPORTER=${exporter} is not known here: ${signal} are exported by otlp only.`);
    return false;
  }
  const endpoints = [`OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`, "OTEL_EXPORTER_OTLP_ENDPOINT"];
  const name = endpoints.find((each) => env[each]);
  if (name === undefined && exporter !== "otlp") return false;
  const protocol = env[`OTEL_EXPORTER_OTLP_${upper}_PROTOCOL`] || env["OTEL_EXPORTER_OTLP_PROTOCOL"];
  if (protocol === "grpc") {
    warnings.push(`OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken here: no ${signal} are exported. Use http/json.`);
    return false;
  }
  const url = name === undefined ? undefined : URL.parse(env[name] ?? "");
  if (url !== undefined && (url === null || !["http:", "https:"].includes(url.protocol))) {
    warnings.push(`${name} is not an http:// or https:// URL: no ${signal} are exported.`);
    return false;
  }
  return true;
}
