import { expect, test } from "bun:test";
import { type AST, RegExpParser, visitRegExpAST } from "@eslint-community/regexpp";
import { toUnicodeSet } from "regexp-ast-analysis";
import { loadConfig } from "#config/load-config.ts";
import { parseChatRequest } from "#http/chat-body/parse-chat.ts";
import { dryRun } from "#pipeline/dry-run.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import { privacyEngine } from "#privacy/engine.ts";
import { literalPatterns } from "../../scripts/patterns/source-patterns.ts";
import { start } from "../harness/gateway.ts";
import { StepCounter, TooManySteps } from "../harness/step-counter.ts";

const isLong = process.env["SMART_GATEWAY_LONG_TESTS"] === "1";
const loaded = loadConfig({});
if (loaded.kind !== "ok") throw new Error("the shipped configuration is not valid");
const { policy } = loaded.config;
const configuration = { ...loaded.config, fields: fieldRulesOf(policy), privacy: privacyEngine(policy.privacy) };

type Characters = AST.CharacterClass | AST.CharacterSet | AST.Character;

/**
 * What the patterns of the source name: a character of each class, and of each repeated one (the first that can be seen, and a
 * blank), and what each pattern begins with, up to its first long repetition.
 */
function namedInPatterns(): { readonly characters: string[]; readonly beginnings: string[] } {
  const parser = new RegExpParser();
  const [characters, beginnings] = [new Set<string>(), new Set<string>()];
  for (const { source, flags } of literalPatterns().literals) {
    const parsed = parser.parseFlags(flags);
    const visible = (node: Characters) => {
      const code = toUnicodeSet(node, parsed).chars.ranges.flatMap(({ min, max }) =>
        max > 32 ? [Math.max(min, 33)] : [],
      )[0];
      return code === undefined || (code >= 0xd800 && code <= 0xdfff) ? "" : String.fromCodePoint(code);
    };
    const add = (node: Characters) => {
      if (node.type === "Character" && node.parent.type !== "Quantifier") return;
      characters.add(visible(node));
      if (toUnicodeSet(node, parsed).chars.has(0x20)) characters.add(" ");
    };
    let ended = false;
    const beginningOf = (node: AST.Element): string => {
      if (ended || node.type === "Assertion" || node.type === "Backreference") return "";
      if (node.type === "Character") return String.fromCodePoint(node.value);
      if (node.type === "Group" || node.type === "CapturingGroup")
        return node.alternatives[0]?.elements.map(beginningOf).join("") ?? "";
      if (node.type !== "Quantifier") return "raw" in node ? visible(node as Characters) : "";
      ended = node.max > 20;
      return ended && node.min === 0 ? "" : beginningOf(node.element);
    };
    const unicode = { unicode: flags.includes("u"), unicodeSets: flags.includes("v") };
    const pattern = parser.parsePattern(source, 0, source.length, unicode);
    visitRegExpAST(pattern, { onCharacterClassEnter: add, onCharacterSetEnter: add, onCharacterEnter: add });
    for (const { elements } of pattern.alternatives) {
      ended = false;
      const beginning = elements.map(beginningOf).join("").slice(0, 40);
      if (ended) beginnings.add(beginning);
    }
  }
  // Most of other scripts are single words of languages.
  const few = [...characters].filter((each) => each !== "" && (each <= "\u00ff" || isLong));
  return { characters: few, beginnings: [...beginnings].filter((each) => each.length > 1) };
}

const named = namedInPatterns();
const blanks = ["\t", "\n", "\r\n", "\n\n", " \n", "\n "];
const marks = '# §|§--§- §```§```\n§~~~\n§[§(§{§}§<§>§</§"§\'§`§\\§\\"'.split("§");
const words = ["a ", "a\n", "a.b/", "1.", "x: ", "<a>", "[a]", '"a",', "> ", "a=b ", "的", "é"];
const pumps = [...new Set([...named.characters, ...blanks, ...marks, ...words])];
const prefixes = ["", "# ", "```\n", "<a>", "- ", '"', "{", "a: ", "Fix this:\n", "\n\n", "exit code", "Error: "];
const suffixes = ["", "!", "\n", "x", "\nx: y\n", "```", "</a>", '"'];

const text = (content: string, role = "user") => ({ role, content });
const called = (args: string, content: string) => [
  text("Fix it."),
  {
    ...text("I run it.", "assistant"),
    tool_calls: [{ id: "c", type: "function", function: { name: "bash", arguments: args } }],
  },
  { ...text(content, "tool"), tool_call_id: "c" },
];
/** Who says the text in a conversation. */
const speakers = {
  user: (said: string) => [text(said)],
  system: (said: string) => [text(said, "system"), text("Fix it.")],
  assistant: (said: string) => [text("Fix it."), text(said, "assistant"), text("Go on.")],
  call: (said: string) => called(JSON.stringify({ command: said }), "ok"),
  result: (said: string) => called('{"command":"make"}', said),
};
type Case = readonly [speaker: keyof typeof speakers, prefix: string, pump: string, suffix: string];

/** Those that stopped the process once. */
const known: readonly Case[] = [
  ["user", "# ", " ", "a".repeat(70)],
  ["user", "```", "--", "!"],
  ["assistant", "", "a\n", ""],
  ["result", "", "\n ", "x"],
  ["assistant", "", "<bash>", ""],
  ["call", "", '"', ""],
];
const everySpeaker = Object.keys(speakers) as (keyof typeof speakers)[]; // its own keys
const all = (pump: string, speaker: Case[0]) =>
  prefixes.flatMap((prefix) => suffixes.map((suffix): Case => [speaker, prefix, pump, suffix]));
const one = (pump: string, speaker: Case[0], at: number): Case => [
  speaker,
  prefixes[at % prefixes.length] ?? "",
  pump,
  suffixes[at % suffixes.length] ?? "",
];
/** In the short form each character for the user and for every second speaker, with another beginning and end each time, and each beginning once. */
const cases: readonly Case[] = isLong
  ? [...pumps, ...named.beginnings].flatMap((pump) => everySpeaker.flatMap((speaker) => all(pump, speaker)))
  : [
      ...pumps.flatMap((pump, at) =>
        everySpeaker.flatMap((speaker, by) => (by === 0 || (at + by) % 2 === 0 ? [one(pump, speaker, at + by)] : [])),
      ),
      ...named.beginnings.map((pump, at) => one(pump, everySpeaker[at % everySpeaker.length] ?? "user", at)),
    ];

function stepsFor(messages: readonly object[]): number {
  const counter = new StepCounter(limit);
  const stop = counter.start();
  try {
    const parsed = parseChatRequest({
      bytes: Buffer.from(JSON.stringify({ model: "smart-router", messages })),
      ...{ headers: new Headers(), requestId: "r", receivedAtMs: 0 },
    });
    if (parsed.kind === "ok") dryRun(parsed.request, { configuration, health: {}, nowMs: 0 });
    return counter.steps;
  } catch (error) {
    if (error instanceof TooManySteps) return Number.POSITIVE_INFINITY;
    throw error;
  } finally {
    stop();
  }
}

const limit = 20_000_000;
/** From a half to the whole as many steps more as from a quarter to a half: 2 times where each character takes the same, 4 times for a square. */
const mostGrowth = 2.5;
const fewSteps = 60_000;

/** Whether steps grow faster than the length, between a quarter of it, half of it and all of it. */
function growsFaster([speaker, prefix, pump, suffix]: Case, length: number): boolean {
  const steps: number[] = [];
  for (const part of [length / 4, length / 2, length]) {
    steps.push(stepsFor(speakers[speaker](prefix + pump.repeat(Math.ceil(part / pump.length)) + suffix)));
    if (steps.at(-1) === Number.POSITIVE_INFINITY) return true;
  }
  const [quarter = 0, half = 0, whole = 0] = steps;
  return whole - half > fewSteps && whole - half > mostGrowth * (half - quarter);
}

test("a request takes steps in proportion to its length, whatever is repeated in it, and whoever says it", () => {
  // A bounded repetition grows like an unbounded one up to its bound, so what is suspect is tried again at a greater length.
  const slow = [...known, ...cases].filter((each) => growsFaster(each, 1_000) && growsFaster(each, 3_000));
  expect(slow).toEqual([]);
}, 600_000);

/** At the socket: what is sent, and the processor time that the gateway may take for it, in milliseconds. Linear, it takes a tenth of that. */
const bodies: Readonly<Record<string, readonly [messages: readonly object[], mostCpuMs: number]>> = {
  "a heading of blanks, 12 KB": [speakers.user(`# ${" ".repeat(11_500)}${"a".repeat(70)}`), 400],
  "a fence with a path of dashes, 117 bytes": [speakers.user(`\`\`\`${"--".repeat(20)}!`), 400],
  "800 KB of a model's text, in lines": [speakers.assistant("a\n\n".repeat(266_000)), 1_500],
  "800 KB of a model's text, a heading of blanks": [speakers.assistant(`# ${" ".repeat(800_000)}a`), 1_500],
  "800 KB of a tool's result, in blank lines": [speakers.result("\n ".repeat(400_000)), 1_500],
};

test.each(Object.entries(bodies))("%s: is answered, and /livez meanwhile", async (_, [messages, mostCpuMs]) => {
  await using gateway = await start();
  await gateway.chat();
  const before = process.cpuUsage();
  const answer = gateway.chat({ model: "smart-router", messages } as never); // shaped by hand
  const alive = await gateway.get("/livez");
  expect([alive.status, (await answer).status]).toEqual([200, 200]);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(mostCpuMs);
});
