import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connectTargetOf } from "#http-client/connect-target.ts";
import { environmentProblem, type Problem } from "./problem.ts";

/** The export that OTEL_* configures. Absent: no export, and nothing of OpenTelemetry is loaded. */
export type OpenTelemetrySettings = Required<ReturnType<typeof openTelemetryIn>>["openTelemetry"];

type Env = Readonly<Record<string, string | undefined>>;
const signals = ["traces", "metrics"] as const;

/**
 * Reads the standard variables that decide whether anything is exported; the libraries read the rest. A variable that
 * cannot be followed is a warning and never stops the start: these belong to the environment, not to this program
 * alone.
 */
export function openTelemetryIn(env: Env) {
  const [traces, metrics] = signals.map((signal) => exportOf(signal, env));
  const warnings = [traces, metrics].filter((wanted) => typeof wanted === "string");
  if (traces !== true && metrics !== true) return { warnings };
  const interval = Number(env["OTEL_METRIC_EXPORT_INTERVAL"] || 60_000);
  const metricIntervalMs = Number.isSafeInteger(interval) && interval >= 100 ? interval : 60_000;
  return { openTelemetry: { traces: traces === true, metrics: metrics === true, metricIntervalMs }, warnings };
}

/** Whether a signal is exported, or why not. */
function exportOf(signal: (typeof signals)[number], env: Env): boolean | string {
  const upper = signal.toUpperCase();
  const exporter = env[`OTEL_${upper}_EXPORTER`]?.trim() || undefined;
  if (env["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true" || exporter === "none") return false;
  if (exporter !== undefined && exporter !== "otlp")
    return `OTEL_${upper}_EXPORTER=${exporter} is not known here: ${signal} are exported by otlp only.`;
  const endpoints = [`OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`, "OTEL_EXPORTER_OTLP_ENDPOINT"];
  const name = endpoints.find((each) => env[each]);
  if (name === undefined && exporter === undefined) return false;
  const protocol = env[`OTEL_EXPORTER_OTLP_${upper}_PROTOCOL`] || env["OTEL_EXPORTER_OTLP_PROTOCOL"];
  if (protocol === "grpc")
    return `OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken here: no ${signal} are exported. Use http/json.`;
  if (name === undefined || /^https?:$/.test(URL.parse(env[name] ?? "")?.protocol ?? "")) return true;
  return `${name} is not an http:// or https:// URL: no ${signal} are exported.`;
}

const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * What is wrong with the file that `NODE_EXTRA_CA_CERTS` names. The runtime reads that file by itself, and only warns,
 * or says nothing, if it adds no authority: then every call to the upstream would fail.
 */
export function extraCaCertsProblems(path: string): Problem[] {
  const message = extraCaCertsProblem(path);
  const suggestion = "name a file of certificate authorities in PEM form, or unset it";
  return message === undefined ? [] : [environmentProblem("NODE_EXTRA_CA_CERTS", message, suggestion)];
}

function extraCaCertsProblem(path: string): string | undefined {
  try {
    const blocks = readFileSync(path, "latin1").match(block) ?? [];
    const broken = blocks.findIndex((pem) => !isCertificate(pem));
    if (broken >= 0) return `certificate ${broken + 1} of its file cannot be read`;
    return blocks.length > 0 ? undefined : "its file holds no certificate";
  } catch (error) {
    return `its file cannot be read: ${error instanceof Error && "code" in error ? error.code : "unreadable"}`;
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

/**
 * Whether the variable is only in `--env-file`: that file is read after the runtime has its certificate authorities, so
 * it has no effect. False where that cannot be found out.
 */
export function isReadTooLate(path: string): boolean {
  try {
    // The environment with which the process was started (Linux).
    const began = readFileSync("/proc/self/environ", "utf8").split("\0");
    return process.env["NODE_EXTRA_CA_CERTS"] === path && !began.includes(`NODE_EXTRA_CA_CERTS=${path}`);
  } catch {
    return false;
  }
}

/** What is wrong with the proxy that the environment names for the upstream: the HTTP client reads it by itself, and could send nothing. */
export function upstreamProxyProblems(baseUrl: string): Problem[] {
  const url = new URL(baseUrl);
  try {
    connectTargetOf(url);
    return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
    const suggestion = "write it as http://host:port, or except the upstream with NO_PROXY";
    return [environmentProblem(name, error.message, suggestion)];
  }
}
