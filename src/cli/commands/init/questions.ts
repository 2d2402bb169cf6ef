import { parseSettings } from "#config/settings.ts";
import { formatUsd, type NanoUsd, parseUsd } from "#domain/money/money.ts";

/** What the files are written from. */
export interface Answers {
  /** Undefined: demo mode, until a key is set. */
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  readonly port: string | undefined;
  readonly perDayHard: NanoUsd;
  readonly perGoalHard: NanoUsd;
}

/** Asks one question and resolves with the line that is typed; undefined when the input has ended. */
export type Ask = (question: string, secret?: boolean) => Promise<string | undefined>;

const tries = 3;

/** Asks for the values that `given` lacks; an empty line takes the default. Undefined when no valid answer comes. */
export async function askAll(given: Answers, ask: Ask, say: (line: string) => void): Promise<Answers | undefined> {
  say("An empty answer takes what stands in brackets.\n");
  const apiKey = await askUntil(
    ask,
    say,
    "Key of your aggregator (is not shown; empty: demo mode, nothing is spent): ",
    (text) => problemIn("UPSTREAM_API_KEY", text),
    true,
  );
  if (apiKey === undefined) return undefined;
  const baseUrl =
    apiKey === ""
      ? ""
      : await askUntil(ask, say, `Its base URL [${given.baseUrl ?? "https://openrouter.ai/api/v1"}]: `, (text) =>
          problemIn("UPSTREAM_BASE_URL", text),
        );
  if (baseUrl === undefined) return undefined;
  const port = await askUntil(ask, say, `Port to listen on [${given.port ?? "8080"}]: `, (text) =>
    problemIn("PORT", text),
  );
  if (port === undefined) return undefined;
  const perDayHard = await askUsd(ask, say, "Most that may be spent in a UTC day, in US dollars", given.perDayHard);
  if (perDayHard === undefined) return undefined;
  const perGoalHard = await askUsd(ask, say, "Most that may be spent for one goal", given.perGoalHard);
  if (perGoalHard === undefined) return undefined;
  return {
    apiKey: apiKey === "" ? undefined : apiKey,
    baseUrl: baseUrl === "" ? given.baseUrl : baseUrl,
    port: port === "" ? given.port : port,
    perDayHard,
    perGoalHard,
  };
}

async function askUntil(
  ask: Ask,
  say: (line: string) => void,
  question: string,
  problemOf: (text: string) => string | undefined,
  secret = false,
): Promise<string | undefined> {
  for (let attempt = 0; attempt < tries; attempt++) {
    const text = (await ask(question, secret))?.trim();
    if (text === undefined) return undefined;
    const problem = text === "" ? undefined : problemOf(text);
    if (problem === undefined) return text;
    say(problem);
  }
  return undefined;
}

async function askUsd(
  ask: Ask,
  say: (line: string) => void,
  question: string,
  fallback: NanoUsd,
): Promise<NanoUsd | undefined> {
  const problem = (text: string) => (parseUsd(text, "down") === undefined ? "an amount such as 7.50" : undefined);
  const text = await askUntil(ask, say, `${question} [${formatUsd(fallback)}]: `, problem);
  if (text === undefined) return undefined;
  return text === "" ? fallback : parseUsd(text, "down");
}

/** Why a value is not valid for a setting, by the setting's own schema; undefined when it is valid. */
export function problemIn(name: string, value: string): string | undefined {
  const parsed = parseSettings({ [name]: value });
  if (parsed.kind === "ok") return undefined;
  return parsed.problems.find(({ path }) => path === name)?.message;
}
