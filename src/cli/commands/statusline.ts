import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { Command } from "commander";
import { exitCodes, exitWith, failWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";

interface StatusOptions {
  readonly url?: string;
  readonly token?: string;
  readonly session?: string;
  readonly goal?: string;
  readonly json?: true;
}

/** What `GET /v1/route/status` answers, as far as it is shown. */
interface Status {
  readonly goal: Account;
  readonly day: Account;
  readonly model: { readonly upstream_id: string } | null;
}
interface Account {
  readonly spent_usd: string;
  readonly hard_cap_usd: string;
  readonly left_usd: string;
}

/** An agent waits for its status bar, so a slower answer is not shown. */
const timeoutMs = 1_000;
/** An agent writes its session at once or not at all. */
const inputWaitMs = 150;
const maxInputLength = 262_144;

/** `smart-gateway statusline`: one line for the status bar of a coding agent, from the gateway that runs here. */
export function statuslineCommand(): Command {
  return new Command("statusline")
    .description("print one line for a coding agent's status bar: model, spend, what is left")
    .option("--url <url>", "the gateway; SMART_GATEWAY_URL, else http://127.0.0.1:PORT, when absent")
    .option(
      "--token <token>",
      "bearer token; SMART_GATEWAY_TOKEN when absent; any of 8 characters without AUTH_KEYS_FILE",
    )
    .option("--goal <goal>", "the goal, as the agent's requests name it; SMART_GATEWAY_GOAL when absent")
    .option(
      "--session <session>",
      "the goal's session; when absent, the session_id that the agent writes to standard input",
    )
    .option("--json", "print the gateway's answer")
    .action(showStatus);
}

async function showStatus(options: StatusOptions): Promise<void> {
  const input = await sessionFromInput();
  const { env } = process;
  const base = options.url ?? (env["SMART_GATEWAY_URL"] || `http://127.0.0.1:${env["PORT"] || "8080"}`);
  const goal = options.goal ?? (env["SMART_GATEWAY_GOAL"] || undefined);
  const session = options.session ?? (goal === undefined ? undefined : input.session);
  const query = new URLSearchParams({
    ...(session === undefined ? {} : { session }),
    ...(goal === undefined ? {} : { goal }),
  });
  const url = URL.parse(`${base.replace(/\/+$/, "")}/v1/route/status?${query}`);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    failWith(exitCodes.badUsage, `--url must be an http:// or https:// URL; is ${JSON.stringify(base)}`, options);
    return finish(exitCodes.badUsage);
  }
  const reply = await ask(url, options.token ?? (env["SMART_GATEWAY_TOKEN"] || "statusline"));
  if (reply.kind === "failed") {
    if (options.json) printJson({ ok: false, problem: reply.problem });
    // On standard output, because that is what a status bar shows.
    else print(`smart-gateway: ${reply.problem}`);
    return finish(exitCodes.failed);
  }
  if (options.json) printJson(reply.status);
  else print(lineOf(reply.status, goal !== undefined, input.model));
  finish(exitCodes.ok);
}

/** `deepseek-v4-flash · goal $0.42 of $5 · today $3.10 of $50, $46.89 left` */
function lineOf({ model, goal, day }: Status, named: boolean, agentsModel: string | undefined): string {
  const name = model?.upstream_id.split("/").at(-1) ?? agentsModel;
  return [
    ...(name === undefined ? [] : [name]),
    ...(named ? [`goal ${usd(goal.spent_usd)} of ${usd(goal.hard_cap_usd)}`] : []),
    `today ${usd(day.spent_usd)} of ${usd(day.hard_cap_usd)}`,
    `${usd(named ? smaller(goal.left_usd, day.left_usd) : day.left_usd)} left`,
  ].join(" · ");
}

function smaller(a: string, b: string): string {
  return Number(a) < Number(b) ? a : b;
}

/** Dollars and cents; an amount below a cent is `<$0.01`. */
function usd(text: string): string {
  const amount = Number(text);
  return amount > 0 && amount < 0.01 ? "<$0.01" : `$${amount.toFixed(2).replace(/\.00$/, "")}`;
}

/** Session and model that an agent such as Claude Code writes to standard input; empty where there is none. */
async function sessionFromInput(): Promise<{ readonly session?: string; readonly model?: string }> {
  if (process.stdin.isTTY === true) return {};
  const text = await inputText();
  try {
    const { session_id, model } = JSON.parse(text);
    return {
      ...(typeof session_id === "string" && session_id !== "" ? { session: session_id } : {}),
      ...(typeof model?.display_name === "string" ? { model: model.display_name.slice(0, 60) } : {}),
    };
  } catch {
    // No input, or none of this shape: the line is made without it.
    return {};
  }
}

function inputText(): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const end = () => resolve(text);
    const timer = setTimeout(end, inputWaitMs);
    process.stdin.setEncoding("utf8");
    process.stdin.on("data", (part: string) => {
      text += part;
      if (text.length > maxInputLength) end();
    });
    const close = () => {
      clearTimeout(timer);
      end();
    };
    process.stdin.on("end", close).on("error", close);
  });
}

type Asked = { readonly kind: "ok"; readonly status: Status } | { readonly kind: "failed"; readonly problem: string };

/** Asks the gateway without a proxy: it is on this machine or near. */
function ask(url: URL, token: string): Promise<Asked> {
  const failed = (problem: string): Asked => ({ kind: "failed", problem });
  return new Promise((resolve) => {
    const make = url.protocol === "https:" ? httpsRequest : httpRequest;
    const request = make(url, { headers: { authorization: `Bearer ${token}` }, timeout: timeoutMs }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        if (response.statusCode === 401) return resolve(failed("the token is not accepted (set SMART_GATEWAY_TOKEN)"));
        if (response.statusCode !== 200) return resolve(failed(`it answered ${response.statusCode}`));
        try {
          // Our own endpoint; a field that is missing shows as NaN and breaks nothing.
          resolve({ kind: "ok", status: JSON.parse(text) as Status });
        } catch {
          resolve(failed("its answer is not JSON"));
        }
      });
    });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    request.on("error", () => resolve(failed("not reachable")));
    request.end();
  });
}

/** An input that stays open must not keep the process. */
function finish(code: 0 | 1 | 2): void {
  exitWith(code);
  process.stdin.destroy();
}
