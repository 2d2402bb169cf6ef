import { availableParallelism, hostname } from "node:os";
import { z } from "zod";
import { databaseUrlForms, defaultDatabaseUrl, parseDatabaseUrl } from "#db/database-url.ts";
import { processNodeId } from "#domain/node-id.ts";
import {
  extraCaCertsProblems,
  isReadTooLate,
  type OpenTelemetrySettings,
  openTelemetryIn,
  upstreamProxyProblems,
} from "./environment.ts";
import { canonicalHost, isLoopback, listenAddress } from "./host-names.ts";
import { type Invalid, nearest, type Problem, quoted } from "./problem.ts";

/** Everything the environment decides, parsed once. Durations in milliseconds, sizes in bytes. */
export interface Settings {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Names beside the loopback ones under which the gateway may be called, in the spelling of URLs. */
  readonly allowedHosts: readonly string[];
  /** `demo`: the built-in simulator, because no upstream is configured. */
  readonly upstream:
    | { readonly kind: "demo" }
    | { readonly kind: "aggregator"; readonly baseUrl: string; readonly apiKey?: string };
  readonly databaseUrl: string;
  /** At the start: how long a database that cannot be reached is waited for. */
  readonly databaseWaitMs: number;
  readonly policyPath?: string;
  readonly registryPath?: string;
  readonly authMinTokenLength: number;
  readonly authKeysFile?: string;
  readonly maxRequestBytes: number;
  /** Most JSON values in one request body. */
  readonly maxRequestValues: number;
  /** Bytes of request bodies held at once, over all requests. */
  readonly maxBytesInFlight: number;
  readonly workers: number;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly dashboardToken?: string;
  readonly nodeId: string;
  /** After SIGTERM: how long new requests are still accepted, then how long streams may go on. */
  readonly drainAcceptMs: number;
  readonly drainStreamsMs: number;
  /** The command prefix that the user types; commands that the gateway prints begin with it. */
  readonly command: string;
  /** Absent: OTEL_* asks for nothing. */
  readonly openTelemetry?: OpenTelemetrySettings;
}

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
/** `auto`: pretty on a terminal, JSON otherwise. */
export const logFormats = ["auto", "pretty", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

const defaultBaseUrl = "https://openrouter.ai/api/v1";

interface Setting {
  readonly schema: z.ZodType;
  /** As the reference shows it; what an absent value means. */
  readonly fallback: string;
  readonly about: string;
  readonly secret?: true;
}

/** Whole numbers as text; `8080x`, `1e3` and `0x50` are refused. */
const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`);

const noSpace = z.string().regex(/^[^\s\u0000-\u001f\u007f]+$/, "must not hold white space or control characters");

const httpUrl = z.string().transform((text, context) => {
  const url = URL.parse(text);
  const complain = (message: string) => {
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  };
  if (url === null || !["http:", "https:"].includes(url.protocol))
    return complain("must be an http:// or https:// URL");
  if (url.username !== "" || url.password !== "") return complain("must not hold credentials: use UPSTREAM_API_KEY");
  if (url.search !== "" || url.hash !== "") return complain("must not have a query or a fragment");
  return text.replace(/\/+$/, "");
});

const maxHosts = 100;

const hostNames = z.string().transform((text, context) => {
  const names = text.split(",").map((name) => name.trim());
  const hosts = names.flatMap((name) => canonicalHost(name) ?? []);
  if (hosts.length === names.length && hosts.length <= maxHosts) return [...new Set(hosts)];
  const message = `must be at most ${maxHosts} host names or addresses without scheme, port or wildcard, comma-separated`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

const databaseUrl = z.string().refine((text) => parseDatabaseUrl(text) !== undefined, databaseUrlForms);

/** Every setting: the validator, its default and its line in the reference. */
export const settingsTable = {
  HOST: {
    schema: noSpace.max(255),
    fallback: "127.0.0.1",
    about: "Listen address. `0.0.0.0` or `::` listens on every interface.",
  },
  PORT: {
    schema: whole(0, 65_535),
    fallback: "8080",
    about: "Listen port; `0` takes any free port, printed on start.",
  },
  ALLOWED_HOSTS: {
    schema: hostNames,
    fallback: "",
    about:
      "Further host names, comma-separated and without ports, that a gateway on loopback accepts in the `Host` header, beside `localhost`, `127.0.0.1` and `[::1]`. Other names get 403, and so does an `Origin` that is not the gateway's own. A gateway on another address checks both only when this is set.",
  },
  UPSTREAM_BASE_URL: {
    schema: httpUrl,
    fallback: defaultBaseUrl,
    about:
      "The aggregator: chat completions are posted to `{UPSTREAM_BASE_URL}/chat/completions`. A base URL without a key is allowed, with a warning: local servers need none.",
  },
  UPSTREAM_API_KEY: {
    schema: noSpace.max(4_096),
    fallback: "",
    about:
      "Sent upstream as bearer token; never logged, never sent to a caller. With neither this nor `UPSTREAM_BASE_URL`, the gateway runs in demo mode with a simulated upstream.",
    secret: true,
  },
  DATABASE_URL: {
    schema: databaseUrl,
    fallback: defaultDatabaseUrl,
    about:
      "The database of the ledger, the decision records and model health: `sqlite:<path>`, `postgres://…` for several nodes, or `sqlite::memory:` for tests (its contents are lost at exit).",
    secret: true,
  },
  DATABASE_WAIT_MS: {
    schema: whole(0, 3_600_000),
    fallback: "60000",
    about:
      "How long the start waits for a PostgreSQL server that cannot be reached yet, in milliseconds; meanwhile the log says `ledger_awaited`.",
  },
  ROUTING_POLICY_PATH: {
    schema: z.string().max(4_096),
    fallback: "",
    about:
      "Policy file, YAML or JSON, merged over the defaults (`config/policy.yaml`); it needs only the keys that it changes.",
  },
  MODEL_REGISTRY_PATH: {
    schema: z.string().max(4_096),
    fallback: "",
    about: "Model registry file, YAML or JSON, merged over the shipped `config/models.yaml`.",
  },
  AUTH_MIN_TOKEN_LENGTH: {
    schema: whole(1, 4_096),
    fallback: "8",
    about: "Bearer tokens with fewer characters get 401.",
  },
  AUTH_KEYS_FILE: {
    schema: z.string().max(4_096),
    fallback: "",
    about:
      "File of the accepted tokens: one SHA-256 digest in hex per line, then an optional label after white space; `#` begins a comment. It is read at start: to add or withdraw a token, restart. Without it, any token that is long enough is accepted.",
  },
  MAX_REQUEST_BYTES: {
    schema: whole(1_024, 1_073_741_824),
    fallback: "16777216",
    about: "Larger request bodies get 413.",
  },
  MAX_REQUEST_VALUES: {
    schema: whole(1_000, 100_000_000),
    fallback: "100000",
    about:
      "Request bodies with more JSON values (objects, arrays, texts, numbers) get 413. A history of 5,000 messages has about 40,000. A value of two characters takes about a hundred bytes of memory.",
  },
  MAX_BYTES_IN_FLIGHT: {
    schema: whole(1_048_576, 68_719_476_736),
    fallback: "268435456",
    about:
      "Most bytes of request bodies in memory over all requests. A body counts from its first byte until its answer begins. Requests beyond that get 503 with `Retry-After`. Bodies above 1 MB together may use a quarter of it. A body takes up to five times its size in memory.",
  },
  WORKERS: { schema: whole(1, 256), fallback: "1", about: "Processes that share the port (Linux only)." },
  LOG_LEVEL: { schema: z.enum(logLevels), fallback: "info", about: `One of ${logLevels.join(", ")}.` },
  LOG_FORMAT: {
    schema: z.enum(logFormats),
    fallback: "auto",
    about: "`pretty`, `json`, or `auto`: pretty on a terminal, JSON otherwise.",
  },
  DASHBOARD_TOKEN: {
    schema: noSpace.min(8, "must have at least 8 characters").max(4_096),
    fallback: "",
    about:
      "Opens the dashboard and its API to callers from other machines. When it is set, everybody signs in, also callers from this machine: behind a proxy on this machine, all callers look local.",
    secret: true,
  },
  NODE_ID: {
    schema: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,159}$/,
        "must be 1 to 160 letters, digits, or . _ : @ -, beginning with a letter or digit",
      ),
    fallback: "",
    about: "Names this node in shared records; host name and process id when unset.",
  },
  DRAIN_ACCEPT_MS: {
    schema: whole(0, 3_600_000),
    fallback: "5000",
    about:
      "How long new requests are still accepted after SIGTERM, in milliseconds, so that load balancers notice first.",
  },
  DRAIN_STREAMS_MS: {
    schema: whole(0, 3_600_000),
    fallback: "120000",
    about: "How long requests in flight may continue after that, in milliseconds, before they end with an error.",
  },
} as const satisfies Record<string, Setting>;
export type SettingName = keyof typeof settingsTable;

/** Files that settings name; those that are no path are left out. */
export type ConfiguredFiles = Pick<Settings, "policyPath" | "registryPath" | "authKeysFile">;

/** The problems of the environment, and the files that it names, so that their problems can be reported too. */
export interface InvalidSettings extends Invalid {
  readonly files: ConfiguredFiles;
}

export type ParsedSettings = { readonly kind: "ok"; readonly settings: Settings; readonly warnings: readonly string[] };

/**
 * The settings in an environment. All problems at once; an empty value counts as unset. Values of secret settings are
 * never quoted in a problem.
 */
export function parseSettings(env: Readonly<Record<string, string | undefined>>): ParsedSettings | InvalidSettings {
  const problems: Problem[] = [];
  const read = <N extends SettingName>(name: N): z.output<(typeof settingsTable)[N]["schema"]> | undefined => {
    const { schema, fallback, ...rest }: Setting = settingsTable[name];
    const given = env[name];
    const text = given === undefined || given === "" ? fallback : given;
    if (text === "") return undefined;
    const result = schema.safeParse(text);
    // The schema read is the one of this name; the table's wider type hides that from the compiler.
    if (result.success) return result.data as z.output<(typeof settingsTable)[N]["schema"]>;
    problems.push(...result.error.issues.map((issue) => problemOf(name, issue, text, rest.secret === true, fallback)));
    return undefined;
  };

  const upstreamGiven = isGiven(env["UPSTREAM_BASE_URL"]) || isGiven(env["UPSTREAM_API_KEY"]);
  const apiKey = read("UPSTREAM_API_KEY");
  const baseUrl = read("UPSTREAM_BASE_URL");
  const policyPath = read("ROUTING_POLICY_PATH");
  const registryPath = read("MODEL_REGISTRY_PATH");
  const authKeysFile = read("AUTH_KEYS_FILE");
  const dashboardToken = read("DASHBOARD_TOKEN");
  const allowedHosts = read("ALLOWED_HOSTS");
  const host = read("HOST");
  const values = {
    host: host === undefined ? undefined : listenAddress(host),
    port: read("PORT"),
    allowedHosts: allowedHosts ?? noHosts,
    databaseUrl: read("DATABASE_URL"),
    databaseWaitMs: read("DATABASE_WAIT_MS"),
    authMinTokenLength: read("AUTH_MIN_TOKEN_LENGTH"),
    maxRequestBytes: read("MAX_REQUEST_BYTES"),
    maxRequestValues: read("MAX_REQUEST_VALUES"),
    maxBytesInFlight: read("MAX_BYTES_IN_FLIGHT"),
    workers: read("WORKERS"),
    logLevel: read("LOG_LEVEL"),
    logFormat: read("LOG_FORMAT"),
    nodeId: read("NODE_ID") ?? processNodeId(hostname(), process.pid),
    drainAcceptMs: read("DRAIN_ACCEPT_MS"),
    drainStreamsMs: read("DRAIN_STREAMS_MS"),
  };
  if (values.workers !== undefined && values.workers > 1) {
    if (values.databaseUrl === "sqlite::memory:") {
      problems.push({
        file: "environment",
        path: "WORKERS",
        message: "several processes cannot share sqlite::memory:, and each would spend the whole budget",
        suggestion: "set WORKERS=1, or DATABASE_URL to a file or to postgres://…",
      });
    }
    if (values.port === 0) {
      problems.push({
        file: "environment",
        path: "PORT",
        message: "several processes cannot share port 0",
        suggestion: "name a port, or set WORKERS=1",
      });
    }
  }
  problems.push(...connectionProblems(env, upstreamGiven ? (baseUrl ?? defaultBaseUrl) : undefined));
  const files: ConfiguredFiles = {
    ...(policyPath === undefined ? {} : { policyPath }),
    ...(registryPath === undefined ? {} : { registryPath }),
    ...(authKeysFile === undefined ? {} : { authKeysFile }),
  };
  if (problems.length > 0) return { kind: "invalid", problems, files };

  const { openTelemetry, warnings } = openTelemetryIn(env);
  const settings: Settings = {
    ...allPresent(values),
    upstream: upstreamGiven
      ? { kind: "aggregator", baseUrl: baseUrl ?? defaultBaseUrl, ...(apiKey === undefined ? {} : { apiKey }) }
      : { kind: "demo" },
    command: ownCommand(env),
    ...files,
    ...(dashboardToken === undefined ? {} : { dashboardToken }),
    ...(openTelemetry === undefined ? {} : { openTelemetry }),
  };
  return { kind: "ok", settings, warnings: [...warningsOf(settings, env), ...warnings] };
}

/** What is wrong with the variables that the runtime and the HTTP client read by themselves. */
function connectionProblems(env: Readonly<Record<string, string | undefined>>, baseUrl: string | undefined): Problem[] {
  const extraCaCerts = env["NODE_EXTRA_CA_CERTS"];
  return [
    ...(isGiven(extraCaCerts) ? extraCaCertsProblems(extraCaCerts) : []),
    ...(baseUrl === undefined ? [] : upstreamProxyProblems(baseUrl)),
  ];
}

const noHosts: readonly string[] = [];

function warningsOf(settings: Settings, env: Readonly<Record<string, string | undefined>>): string[] {
  const warnings: string[] = [];
  const { upstream } = settings;
  if (upstream.kind === "aggregator" && upstream.apiKey === undefined) {
    warnings.push("UPSTREAM_BASE_URL is set without UPSTREAM_API_KEY: requests go upstream without credentials.");
  }
  if (upstream.kind === "aggregator") {
    const url = URL.parse(upstream.baseUrl);
    if (url?.protocol === "http:" && !isLoopback(url.hostname)) {
      const what = upstream.apiKey === undefined ? "every prompt travels" : "the key and every prompt travel";
      warnings.push(`UPSTREAM_BASE_URL is plain http: ${what} unencrypted. Use https.`);
    }
  }
  if (!isLoopback(settings.host) && settings.authKeysFile === undefined) {
    warnings.push(
      `HOST=${settings.host} listens beyond this machine, and without AUTH_KEYS_FILE any bearer token of ${settings.authMinTokenLength} characters is accepted.`,
    );
  }
  if (settings.workers > availableParallelism()) {
    warnings.push(`WORKERS=${settings.workers} is more than the ${availableParallelism()} processors of this machine.`);
  }
  const extraCaCerts = env["NODE_EXTRA_CA_CERTS"];
  // Workers are started with what the supervisor has read.
  if (isGiven(extraCaCerts) && settings.workers === 1 && isReadTooLate(extraCaCerts)) {
    warnings.push(
      "NODE_EXTRA_CA_CERTS has no effect in .env, because the runtime reads it before: set it in the environment.",
    );
  }
  for (const name of Object.keys(env)) {
    if (name in settingsTable || !isGiven(env[name])) continue;
    const meant = likelyTypo(name);
    if (meant !== undefined) warnings.push(`${name} is no setting of the gateway; did you mean ${meant}?`);
  }
  return warnings;
}

/**
 * A variable whose name differs by one or two letters from a setting's. This only warns, because the environment has other
 * variables too, and only for names long enough to make a coincidence unlikely.
 */
function likelyTypo(name: string): SettingName | undefined {
  const candidates = (Object.keys(settingsTable) as SettingName[]).filter((known) => known.length >= 8);
  const near = nearest(name, candidates) as SettingName | undefined; // it is one of the candidates
  const letters = (text: string) => text.toLowerCase().replace(/[^a-z]/g, "");
  if (near === undefined || Math.abs(near.length - name.length) > 2) return undefined;
  return letters(near).slice(0, 4) === letters(name).slice(0, 4) ? near : undefined;
}

function problemOf(
  name: SettingName,
  issue: z.core.$ZodIssue,
  text: string,
  secret: boolean,
  fallback: string,
): Problem {
  const message = issue.code === "invalid_value" ? `must be one of ${issue.values.join(", ")}` : issue.message;
  const near = issue.code === "invalid_value" ? nearest(text, issue.values.map(String)) : undefined;
  const suggestion =
    near === undefined
      ? fallback === "" || secret
        ? undefined
        : `unset it for the default, ${fallback}`
      : `did you mean ${near}?`;
  return {
    file: "environment",
    path: name,
    message: secret ? message : `${message}; is ${quoted(text)}`,
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

function isGiven(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

/** Each value is present: a missing one would have reported a problem, and the caller would have returned. */
function allPresent<T extends Record<string, unknown>>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return values as { [K in keyof T]: Exclude<T[K], undefined> };
}

/**
 * The command prefix that the user types, such as `npx smart-gateway` in a clone; the launchers pass it on (scripts/toolchain.mjs).
 */
export function ownCommand(env: Readonly<Record<string, string | undefined>>): string {
  return env["SMART_GATEWAY_COMMAND"] || "smart-gateway";
}
