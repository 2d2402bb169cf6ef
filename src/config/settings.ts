import { availableParallelism, hostname } from "node:os";
import { z } from "zod";
import { databaseUrlForms, defaultDatabaseUrl, parseDatabaseUrl } from "#db/database-url.ts";
import { processNodeId } from "#domain/node-id.ts";
import { readText } from "./config-file.ts";
import {
  extraCaCertsProblems,
  isReadTooLate,
  type OpenTelemetrySettings,
  openTelemetryIn,
  upstreamProxyProblems,
} from "./environment.ts";
import { canonicalHost, isLoopback, listenAddress } from "./host-names.ts";
import { environmentProblem, type Invalid, nearest, type Problem, quoted } from "./problem.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
/** `auto`: pretty on a terminal, JSON otherwise. */
const logFormats = ["auto", "pretty", "json"] as const;

type Env = Readonly<Record<string, string | undefined>>;

/** Whole numbers as text; `8080x`, `1e3` and `0x50` are refused. */
function whole(fallback: string, min: number, max: number) {
  const form = `must be a whole number from ${min} to ${max}`;
  const digits = z.string().regex(/^\d{1,15}$/, form);
  return digits
    .refine((text) => Number(text) >= min && Number(text) <= max, form)
    .transform(Number)
    .prefault(fallback);
}

const path = z.string().max(4_096).optional();

const noSpace = z.string().regex(/^[^\s\u0000-\u001f\u007f]+$/, "must not hold white space or control characters");
const apiKey = noSpace.max(4_096).optional();
const dashboardToken = noSpace.min(8, "must have at least 8 characters").max(4_096).optional();

const nodeIdForm = "must be 1 to 160 letters, digits, or . _ : @ -, beginning with a letter or digit";
const nodeId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,159}$/, nodeIdForm)
  .optional();

/** What is wrong with a base URL; undefined where nothing is. */
function baseUrlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return "must be an http:// or https:// URL";
  if (url.username !== "" || url.password !== "") return "must not hold credentials: use UPSTREAM_API_KEY";
  return url.search === "" && url.hash === "" ? undefined : "must not have a query or a fragment";
}
const baseUrl = z
  .string()
  .refine((text) => baseUrlProblem(text) === undefined, { error: ({ input }) => baseUrlProblem(String(input)) ?? "" })
  .transform((text) => text.replace(/(?<!\/)\/+$/, ""))
  .prefault("https://openrouter.ai/api/v1");

const maxHosts = 100;

const hostsIn = (text: string) => (text === "" ? [] : text.split(",").map((name) => canonicalHost(name.trim())));
const hostNames = z
  .string()
  .refine(
    (text) => hostsIn(text).every((host) => host !== undefined) && hostsIn(text).length <= maxHosts,
    `must be at most ${maxHosts} host names or addresses without scheme, port or wildcard, comma-separated`,
  )
  .transform((text) => [...new Set(hostsIn(text))].filter((host) => host !== undefined))
  .prefault("");

const databaseUrl = z
  .string()
  .refine((text) => parseDatabaseUrl(text) !== undefined, databaseUrlForms)
  .prefault(defaultDatabaseUrl);

/** Every setting: the validator, its default and its line in the reference. */
export const settingsShape = {
  HOST: noSpace
    .max(255)
    .transform(listenAddress)
    .prefault("127.0.0.1")
    .describe("Listen address. `0.0.0.0` or `::` listens on every interface."),
  PORT: whole("8080", 0, 65_535).describe("Listen port; `0` takes any free port, printed on start."),
  ALLOWED_HOSTS: hostNames.describe(
    "Further `Host` names, comma-separated and without ports, that a gateway on loopback answers to; others get 403. On another address names are checked only when this is set.",
  ),
  UPSTREAM_BASE_URL: baseUrl.describe(
    "The aggregator: chat completions are posted to `{UPSTREAM_BASE_URL}/chat/completions`. Without a key it is used with a warning: local servers need none.",
  ),
  UPSTREAM_API_KEY: apiKey.describe(
    "Sent upstream as bearer token; never logged, never sent to a caller. With neither this nor `UPSTREAM_BASE_URL` the gateway runs in demo mode.",
  ),
  DATABASE_URL: databaseUrl.describe(
    "The database: `sqlite:<path>`, `postgres://…` for several nodes, or `sqlite::memory:`, which is lost at exit.",
  ),
  DATABASE_MIGRATIONS: z
    .enum(["apply", "require"])
    .prefault("apply")
    .describe(
      "`apply`: a start brings the schema up to date. `require`: a job has run `smart-gateway migrate` before, or the start fails.",
    ),
  ROUTING_POLICY_PATH: path.describe("[Policy](policy.md) file, merged over `defaults/policy.yaml`."),
  MODEL_REGISTRY_PATH: path.describe("[Model registry](models.md) file, merged over `defaults/models.yaml`."),
  AUTH_MIN_TOKEN_LENGTH: whole("8", 1, 4_096).describe("Bearer tokens with fewer characters get 401."),
  AUTH_KEYS_FILE: path.describe(
    "File of the accepted tokens: a SHA-256 digest in hex per line, then an optional label and `day_hard_usd=N` (what its tokens may spend in a UTC day), `rpm=N` (requests a minute, in each process), `expires=YYYY-MM-DD` (the last UTC day); `#` begins a comment. A withdrawn token is refused within a second. Keys of `smart-gateway keys add` are accepted beside it; without either, any token that is long enough.",
  ),
  MAX_REQUEST_BYTES: whole("16777216", 1_024, 1_073_741_824).describe("Larger request bodies get 413."),
  MAX_BYTES_IN_FLIGHT: whole("268435456", 1_048_576, 68_719_476_736).describe(
    "Bytes of request bodies, as far as they have come, whose answers have not begun; further requests get 503. Bodies above 1 MB may use a quarter of it. In memory a body takes up to five times its size.",
  ),
  WORKERS: whole("1", 1, 256).describe("Processes that share the port (Linux only)."),
  LOG_LEVEL: z
    .enum(logLevels)
    .prefault("info")
    .describe(`One of ${logLevels.join(", ")}.`),
  LOG_FORMAT: z
    .enum(logFormats)
    .prefault("auto")
    .describe("`pretty`, `json`, or `auto`: pretty on a terminal, JSON otherwise."),
  DASHBOARD_TOKEN: dashboardToken.describe(
    "Opens the dashboard and its API to other machines. When it is set, everybody signs in: behind a local proxy all callers look local.",
  ),
  NODE_ID: nodeId.describe("Names this node in shared records; host name and process id when unset."),
  DRAIN_ACCEPT_MS: whole("5000", 0, 3_600_000).describe(
    "How long new requests are accepted after SIGTERM, in milliseconds, so that load balancers notice first.",
  ),
  DRAIN_STREAMS_MS: whole("600000", 0, 3_600_000).describe(
    "How long requests in flight may go on after that, in milliseconds.",
  ),
};
export type SettingName = keyof typeof settingsShape;
type Values = z.output<z.ZodObject<typeof settingsShape>>;
type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;
type FieldName<Name extends string> = Name extends keyof typeof shortNames
  ? (typeof shortNames)[Name]
  : CamelCase<Name>;
/** As commands name them, which take the same files as arguments. */
const shortNames = { ROUTING_POLICY_PATH: "policyPath", MODEL_REGISTRY_PATH: "registryPath" } as const;

/** Everything the environment decides, parsed once: each setting by its name. Durations in milliseconds, sizes in bytes. */
export interface Settings extends Omit<Named, "upstreamBaseUrl" | "upstreamApiKey" | "nodeId"> {
  /** `demo`: the built-in simulator, because no upstream is configured. */
  readonly upstream:
    | { readonly kind: "demo" }
    | {
        readonly kind: "aggregator";
        readonly baseUrl: string;
        readonly apiKey?: string;
        /** Read again when it changes. */
        readonly apiKeyFile?: string;
      };
  readonly nodeId: string;
  /** The command prefix that the user types; commands that the gateway prints begin with it. */
  readonly command: string;
  /** Absent: OTEL_* asks for nothing. */
  readonly openTelemetry?: OpenTelemetrySettings | undefined;
}
type Named = { readonly [Name in keyof Values as FieldName<Name>]: Values[Name] };

/** Settings whose value is never shown, and may be read from a file, such as a mounted secret, that `…_FILE` names. */
export const secretSettings: readonly string[] = ["UPSTREAM_API_KEY", "DATABASE_URL", "DASHBOARD_TOKEN"];

/** What the reference says of each setting: its default, empty where there is none, and its meaning. */
export const settingsTable = Object.fromEntries(
  Object.entries(z.toJSONSchema(z.object(settingsShape), { io: "input" }).properties ?? {}).map(([name, schema]) => {
    const { default: fallback = "", description = "" } = typeof schema === "object" ? schema : {};
    return [name, { fallback: String(fallback), about: description }];
  }),
) as { readonly [N in SettingName]: { readonly fallback: string; readonly about: string } }; // one for each of the shape

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
export function parseSettings(env: Env): ParsedSettings | InvalidSettings {
  const problems: Problem[] = [];
  const secrets = secretFiles(env, problems);
  const values = Object.fromEntries(
    Object.entries(settingsShape).map(([name, schema]) => [
      fieldName(name),
      readSetting(name, schema, secrets[name] || env[name], problems),
    ]),
  ) as Named; // what has a problem is undefined, and then nothing of this is returned
  const { upstreamApiKey: apiKey, upstreamBaseUrl: baseUrl, ...direct } = values;
  const { workers, databaseUrl, port } = direct;
  const apiKeyFile = env["UPSTREAM_API_KEY_FILE"];
  const isAggregator = isGiven(env["UPSTREAM_BASE_URL"]) || apiKey !== undefined;
  if (workers > 1 && databaseUrl === "sqlite::memory:") {
    const message = "several processes cannot share sqlite::memory:, and each would spend the whole budget";
    const suggestion = "set WORKERS=1, or DATABASE_URL to a file or to postgres://…";
    problems.push(environmentProblem("WORKERS", message, suggestion));
  }
  if (workers > 1 && port === 0) {
    const suggestion = "name a port, or set WORKERS=1";
    problems.push(environmentProblem("PORT", "several processes cannot share port 0", suggestion));
  }
  // What is wrong with the variables that the runtime and the HTTP client read by themselves.
  const extraCaCerts = env["NODE_EXTRA_CA_CERTS"];
  if (isGiven(extraCaCerts)) problems.push(...extraCaCertsProblems(extraCaCerts));
  if (isAggregator && baseUrl !== undefined) problems.push(...upstreamProxyProblems(baseUrl));
  if (problems.length > 0) return { kind: "invalid", problems, files: values };

  const { openTelemetry, warnings } = openTelemetryIn(env);
  const settings: Settings = {
    ...direct,
    upstream: isAggregator
      ? {
          kind: "aggregator",
          baseUrl,
          ...(apiKey === undefined ? {} : { apiKey }),
          ...(isGiven(apiKeyFile) ? { apiKeyFile } : {}),
        }
      : { kind: "demo" },
    nodeId: values.nodeId ?? processNodeId(hostname(), process.pid),
    command: ownCommand(env),
    openTelemetry,
  };
  return { kind: "ok", settings, warnings: [...findWarnings(settings, env), ...warnings] };
}

function fieldName(name: string): string {
  if (name in shortNames) return shortNames[name as keyof typeof shortNames]; // as just checked
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The values of settings that are read from files. */
function secretFiles(env: Env, problems: Problem[]): Env {
  const values: Record<string, string> = {};
  for (const name of secretSettings) {
    const path = env[`${name}_FILE`];
    if (!isGiven(path)) continue;
    if (isGiven(env[name])) {
      problems.push(environmentProblem(`${name}_FILE`, `is set, and so is ${name}`, "unset one of the two"));
      continue;
    }
    const read = readSecret(path, name);
    if (read.kind === "invalid") problems.push(...read.problems);
    else values[name] = read.value;
  }
  return values;
}

type Secret = { readonly kind: "ok"; readonly value: string } | Invalid;

function readSecret(path: string, name: string): Secret {
  const read = readText(path, `${name}_FILE`);
  if (read.kind === "invalid") return read;
  const value = read.text.trim();
  if (value !== "") return { kind: "ok", value };
  return { kind: "invalid", problems: [{ file: path, path: "", message: `is empty: check ${name}_FILE` }] };
}

/** The key in the file that `UPSTREAM_API_KEY_FILE` names. */
export function readUpstreamKey(path: string): Secret {
  const read = readSecret(path, "UPSTREAM_API_KEY");
  if (read.kind === "invalid") return read;
  const { error } = apiKey.safeParse(read.value);
  if (error === undefined) return read;
  return { kind: "invalid", problems: error.issues.map(({ message }) => ({ file: path, path: "", message })) };
}

/** Undefined when it is absent, or when its problem was added. */
function readSetting(name: string, schema: z.ZodType, text: string | undefined, problems: Problem[]): unknown {
  if (text !== undefined && /^(["']).*\1$/s.test(text)) {
    const message = "stands in quotes, and they are a part of the value";
    const suggestion = "remove them: env files of containers, and --env-file, take each value as it stands";
    problems.push(environmentProblem(name, message, suggestion));
    return undefined;
  }
  const result = schema.safeParse(text || undefined);
  if (result.success) return result.data;
  problems.push(...result.error.issues.map((issue) => settingProblem(name, issue, text ?? "")));
  return undefined;
}

/** Settings of earlier releases, and what holds instead. */
const removedSettings: Readonly<Record<string, string>> = {
  DATABASE_WAIT_MS: "the start waits a minute for a PostgreSQL server that cannot be reached yet",
  MAX_REQUEST_VALUES: "a request body may have 100,000 JSON values",
};

function findWarnings({ upstream, host, dashboardToken, workers, ...settings }: Settings, env: Env): string[] {
  const processors = availableParallelism();
  const caCerts = env["NODE_EXTRA_CA_CERTS"];
  const { baseUrl, apiKey } = upstream.kind === "aggregator" ? upstream : {};
  const url = URL.parse(baseUrl ?? "");
  const isPlain = url?.protocol === "http:" && !isLoopback(url.hostname);
  const what = apiKey === undefined ? "every prompt travels" : "the key and every prompt travel";
  const warnings: readonly (readonly [applies: boolean, warning: string])[] = [
    [
      baseUrl !== undefined && apiKey === undefined,
      "UPSTREAM_BASE_URL is set without UPSTREAM_API_KEY: requests go upstream without credentials.",
    ],
    [isPlain, `UPSTREAM_BASE_URL is plain http: ${what} unencrypted. Use https.`],
    [
      !isLoopback(host) && settings.authKeysFile === undefined,
      `HOST=${host} listens beyond this machine, and without AUTH_KEYS_FILE or \`keys add\` any bearer token of ${settings.authMinTokenLength} characters is accepted.`,
    ],
    [
      dashboardToken !== undefined && dashboardToken.length < 16,
      "DASHBOARD_TOKEN has fewer than 16 characters, and could be guessed: choose a long random one.",
    ],
    [workers > processors, `WORKERS=${workers} is more than the ${processors} processors of this machine.`],
    [
      // Workers are started with what the supervisor has read.
      isGiven(caCerts) && workers === 1 && isReadTooLate(caCerts),
      "NODE_EXTRA_CA_CERTS has no effect in an env file, because the runtime reads it before: set it in the environment.",
    ],
  ];
  const unknown = Object.keys(env).filter((name) => !(name in settingsShape) && isGiven(env[name]));
  return [
    ...warnings.flatMap(([applies, warning]) => (applies ? [warning] : [])),
    ...unknown.flatMap((name) => unknownName(name) ?? []),
  ];
}

/** What to say of a variable that is no setting; undefined where it is none of the gateway's. */
function unknownName(name: string): string | undefined {
  const instead = removedSettings[name];
  if (instead !== undefined) return `${name} has no effect any more: ${instead}.`;
  if (secretSettings.some((setting) => name === `${setting}_FILE`)) return undefined;
  const meant = likelyTypo(name);
  return meant && `${name} is no setting of the gateway; did you mean ${meant}?`;
}

/**
 * A variable whose name differs by one or two letters from a setting's. This only warns, because the environment has
 * other variables too, and only for names long enough to make a coincidence unlikely.
 */
function likelyTypo(name: string): SettingName | undefined {
  const candidates = (Object.keys(settingsShape) as SettingName[]).filter((known) => known.length >= 8);
  const near = nearest(name, candidates) as SettingName | undefined; // it is one of the candidates
  const letters = (text: string) => text.toLowerCase().replace(/[^a-z]/g, "");
  if (near === undefined || Math.abs(near.length - name.length) > 2) return undefined;
  return letters(near).slice(0, 4) === letters(name).slice(0, 4) ? near : undefined;
}

function settingProblem(name: string, issue: z.core.$ZodIssue, text: string): Problem {
  const options = issue.code === "invalid_value" ? issue.values.map(String) : [];
  const message = options.length > 0 ? `must be one of ${options.join(", ")}` : issue.message;
  if (secretSettings.includes(name)) return environmentProblem(name, message);
  const near = nearest(text, options);
  const fallback = settingsTable[name as SettingName].fallback; // a setting has been read
  const byDefault = fallback === "" ? undefined : `unset it for the default, ${fallback}`;
  return environmentProblem(name, `${message}; is ${quoted(text)}`, near ? `did you mean ${near}?` : byDefault);
}

function isGiven(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

/** The command prefix that the user types, such as `npx smart-gateway` in a clone; the launchers pass it on (scripts/toolchain.mjs). */
export function ownCommand(env: Env): string {
  return env["SMART_GATEWAY_COMMAND"] || "smart-gateway";
}
