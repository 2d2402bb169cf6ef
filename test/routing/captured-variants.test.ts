import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "#domain/chat.ts";
import { assessed } from "#pipeline/assess/fixtures.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aSnapshot } from "#pipeline/decide/fixtures.ts";

/**
 * Requests that agents have sent, and variants of them: agents change their wording with every version. Needs the development data beside
 * the project; nothing of it is kept here.
 */
const folder = join(import.meta.dir, "../../../shared/agent-requests");

type Body = JsonObject & { messages: JsonObject[]; tools?: JsonObject[] };

const plainAsk = "Add a subtract function to calc.py and a test for it";
const highRiskAsk = "Replace the session cookies of our login with rotating refresh tokens in production";
const plain = new RegExp(plainAsk.replace(".", "\\."), "g");

function replaced(body: Body, pairs: readonly (readonly [RegExp, string])[]): Body {
  const change = (text: string) => pairs.reduce((changed, [from, to]) => changed.replace(from, to), text);
  return JSON.parse(JSON.stringify(body), (_, value) => (typeof value === "string" ? change(value) : value)) as Body;
}

/** What agents write around asks, in other words and in another language. */
const reworded: readonly (readonly [RegExp, string])[] = [
  [/Recommended Workflow/g, "Suggested workflow"],
  [/Please solve this issue:/g, "Please resolve the following issue:"],
  [/To suggest changes to a file you MUST/g, "# File format instructions\n\nTo change a file you have to"],
  [/Git commit messages/g, "messages for this commit"],
  [/title generator/g, "title writer"],
  [/Generate a (?:brief )?title/g, "Write a short title"],
  [/summarize this partial conversation/g, "write a summary of the conversation"],
];
const translated: readonly (readonly [RegExp, string])[] = [
  [/You can execute bash commands and edit files/g, "Du kannst Befehle ausführen"],
  [/Working directory/g, "Arbeitsverzeichnis"],
  [/Message time/g, "Uhrzeit"],
  [/You are a title generator\./g, "Du bist ein Titelgenerator."],
  [/Generate a title for this conversation:/g, "Erzeuge einen Titel für diese Unterhaltung:"],
  [/\*Briefly\* summarize this partial conversation/g, "Fasse diese Unterhaltung kurz zusammen"],
];
const renamedTags: readonly (readonly [RegExp, string])[] = [
  [/environment_details/g, "session_context"],
  [/returncode/g, "exit_code"],
  [/<(\/?)output>/g, "<$1stdout>"],
  [/<(\/?)user_input/g, "<$1user_request"],
];
const renamedTools: readonly (readonly [RegExp, string])[] = [
  [/^bash$/, "run_shell_command"],
  [/^edit$/, "replace_in_file"],
  [/^read$/, "view_file"],
  [/^write$/, "create_file"],
];
const noise = "src/login.ts: rotates the refresh tokens of the session cookies in production";

const variants: readonly (readonly [string, (body: Body) => Body])[] = [
  ["as it was sent", (body) => body],
  ["reworded", (body) => replaced(body, reworded)],
  ["translated", (body) => replaced(body, translated)],
  ["tags renamed", (body) => replaced(body, renamedTags)],
  ["tools renamed", (body) => replaced(body, renamedTools)],
  [
    "parts of a message in another order",
    (body) => ({
      ...body,
      messages: body.messages.map((message) =>
        Array.isArray(message["content"]) ? { ...message, content: message["content"].toReversed() } : message,
      ),
    }),
  ],
  [
    "with a block of another program around the ask",
    (body) =>
      replaced(body, [
        [plain, `<workspace_state>\n${noise}\n</workspace_state>\n$&\n<open_tabs>\n${noise}\n</open_tabs>`],
      ]),
  ],
  ["all of it", (body) => [reworded, translated, renamedTags, renamedTools].reduce(replaced, body)],
];

function tierOf({ messages, tools = [], max_tokens: limit }: Body): "flash" | "pro" {
  const names = tools.map((tool) => String((tool["function"] as JsonObject | undefined)?.["name"]));
  const { task, runtime, scale, prose } = assessed({
    messages,
    tools: names,
    outputTokens: typeof limit === "number" ? limit : null,
  });
  return decide(task, runtime, aSnapshot({ scale, prose })).model === "vendor_v4_pro" ? "pro" : "flash";
}

if (!existsSync(folder)) test.skip("captured requests: no development data at ../shared/agent-requests", () => {});
else {
  const labels = JSON.parse(readFileSync(join(folder, "labels.json"), "utf8")) as Record<
    string,
    { tier: string; housekeeping: boolean }
  >;
  const captured = readdirSync(folder).flatMap((file) => {
    const name = file.replace(/\.json$/, "");
    const label = labels[name];
    const body = label === undefined ? undefined : (JSON.parse(readFileSync(join(folder, file), "utf8")) as Body);
    return label === undefined || body === undefined || label.tier === "any" ? [] : [{ name, label, body }];
  });

  test.each(variants)("nineteen of twenty go where they should: %s", (_, vary) => {
    const wrong = captured.filter(({ label, body }) => tierOf(vary(body)) !== label.tier).map(({ name }) => name);
    expect(wrong.slice(Math.floor(captured.length / 20))).toEqual([]);
  });

  test.each(variants)(
    "the same with a high-risk ask in them, of which a housekeeping call makes nothing: %s",
    (_, vary) => {
      const others = captured.filter(({ body }) => JSON.stringify(body).includes(plainAsk));
      const wrong = others.filter(({ label, body }) => {
        const swapped = replaced(vary(body), [[plain, highRiskAsk]]);
        return tierOf(swapped) !== (label.housekeeping ? "flash" : "pro");
      });
      expect(others.length).toBeGreaterThan(15);
      expect(wrong.map(({ name }) => name)).toEqual([]);
    },
  );
}
