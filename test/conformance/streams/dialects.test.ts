import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject } from "#domain/chat.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { type Answer, start, type TestGateway, upstreamIds } from "../../harness/gateway.ts";
import { contentOf, finishReasonsOf, readStream } from "../../harness/sse.ts";
import { noExclusion } from "../failures/faults.ts";

/** What a caller makes of an answer; absent where there is nothing. */
interface Made {
  readonly text?: string;
  readonly thoughts?: string;
  /** The arguments of each call, by its id. */
  readonly calls?: { readonly [id: string]: string };
  readonly finish?: string;
  /** What else has come. */
  readonly more?: readonly string[];
}

/**
 * One part of a body. An event: its content or delta, its finish reason, and more members of the chunk and of the choice; an
 * object: a whole answer; `stop`, `done`: the usual ends; any other text goes out as it is.
 */
type Part =
  | string
  | [delta: string | JsonObject | null, finish?: Json, more?: JsonObject, choice?: JsonObject]
  | { message: JsonObject; choice: JsonObject; more: JsonObject };

/** What upstreams really send: each row is the body of an answer, and what the caller makes of it, streamed or not. */
const rows = readFileSync(join(import.meta.dir, "fixtures/dialects.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line): { what: string; body: Part[]; made: Made | "failed" } => JSON.parse(line));

const model = upstreamIds["vendor_v4_flash"] ?? "";
const names = { id: "gen-1", object: "chat.completion.chunk", created: 1_700_000_000, model };

function textOf(part: Part): string {
  if (part === "stop") return textOf([{}, "stop"]);
  if (part === "done") return "data: [DONE]\n\n";
  if (typeof part === "string") return part;
  if (!Array.isArray(part)) {
    const { message, choice, more } = part;
    return JSON.stringify({
      ...names,
      object: "chat.completion",
      choices: [{ index: 0, message, ...choice }],
      ...more,
    });
  }
  const [said, finish_reason = null, more = {}, choice = {}] = part;
  const delta = said === null ? {} : { delta: typeof said === "string" ? { content: said } : said };
  const chunk = { ...names, choices: [{ index: 0, ...delta, finish_reason, ...choice }], ...more };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

const usual: ReadonlySet<string> = new Set(["role", "content", "reasoning", "reasoning_content", "tool_calls"]);

let gateway: TestGateway;
beforeAll(async () => {
  const usd = 900_000;
  const budget = { per_goal_hard_usd: usd, per_day_hard_usd: usd, per_goal_soft_usd: usd, per_day_soft_usd: usd };
  const health = { ...noExclusion, garbage_in_a_row: 1_000_000, garbage_minimum: 1_000_000 };
  gateway = await start({ policy: { upstream: { max_attempts: 1 }, health, budget } });
});
afterAll(() => gateway.stop());

/** The body at once, or in pieces of three bytes, so that lines, marks and characters are split. */
const answers =
  (body: string, type: string, inPieces: boolean): Behaviour =>
  async (exchange) => {
    await exchange.raw(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nconnection: close\r\n\r\n`);
    const bytes = Buffer.from(body);
    const step = inPieces ? 3 : bytes.length;
    for (let at = 0; at < bytes.length; at += step) await exchange.raw(bytes.subarray(at, at + step));
    exchange.cut("fin");
  };

async function madeOf(body: string, type: string, stream: boolean, inPieces: boolean): Promise<Made | "failed"> {
  gateway.upstream.next(answers(body, type, inPieces));
  const response = await gateway.chat({ stream, max_tokens: 100 });
  if (response.status !== 200) {
    expect([500, 502]).toContain(response.status);
    return "failed";
  }
  const read = stream ? await readStream(response) : undefined;
  const objects: readonly Answer[] = read?.chunks ?? [await response.json()];
  if (objects.some(({ error }) => error !== undefined)) return "failed";
  for (const { id, created, object, model: name } of objects) {
    expect([id, object, name]).toEqual([objects[0].id, stream ? names.object : "chat.completion", model]);
    expect([/^\S+$/.test(id), Number.isInteger(created), created]).toEqual([true, true, objects[0].created]);
  }
  if (read !== undefined) expect([read.done, read.comments]).toEqual([true, []]);
  const choices: Answer[] = objects.flatMap((each) => each.choices);
  const parts = choices.map((choice) => choice.delta ?? choice.message);
  const finish = finishReasonsOf(objects);
  const text = stream ? contentOf(objects) : (parts[0].content ?? "");
  const thoughts = parts.map((part) => part.reasoning ?? part.reasoning_content ?? "").join("");
  const calls: { [id: string]: string } = {};
  const open = new Map<number, string>();
  for (const each of parts.flatMap((part) => part.tool_calls ?? [])) {
    if (each.function.name !== undefined) open.set(each.index, each.id);
    const id = open.get(each.index) ?? "";
    calls[id] = (calls[id] ?? "") + each.function.arguments;
  }
  const more = parts.flatMap((part) => Object.keys(part).filter((name) => !usual.has(name)));
  expect([finish.length, new Set(choices.map(({ index }) => index))]).toEqual([1, new Set([0])]);
  return {
    ...(text !== "" && { text }),
    // A whole answer that is nothing but reasoning has it twice.
    ...(thoughts !== "" && thoughts !== text && { thoughts }),
    ...(Object.keys(calls).length > 0 && { calls }),
    ...(finish[0] !== undefined && { finish: finish[0] }),
    ...(more.length > 0 && { more }),
  };
}

describe("an answer with", () => {
  test.each(rows.map(({ what, ...row }) => [what, row] as const))("%s", async (_, { body, made }) => {
    const text = body.map(textOf).join("");
    const type = text.startsWith("{") ? "application/json" : "text/event-stream";
    const ways = [true, false].flatMap((stream) => [true, false].map((inPieces) => [stream, inPieces] as const));
    for (const way of ways) expect([way, await madeOf(text, type, ...way)]).toEqual([way, made]);
  });

  test.each([
    ["", ""],
    ["stop", "stop"],
    [" ", "end_turn"],
  ])("the word %p in each chunk of two choices, and %p at last", async (word, last) => {
    const body = [..."Hello"].flatMap((letter, at) =>
      [0, 1].map((index) => textOf([letter, at < 4 ? word : last, {}, { index }])),
    );
    gateway.upstream.next(answers(`${body.join("")}data: [DONE]\n\n`, "text/event-stream", true));
    const { chunks, done } = await readStream(await gateway.chat({ stream: true, n: 2 }));
    expect([contentOf(chunks, 0), contentOf(chunks, 1), done]).toEqual(["Hello", "Hello", true]);
    expect(finishReasonsOf(chunks)).toEqual(["stop", "stop"]);
  });

  test("stop in each chunk, cut at any byte, is broken once that is seen, up to [DONE]", async () => {
    const [first, ...rest] = (
      [
        ["H", "stop"],
        ["ell", "stop"],
        ["o", "stop"],
      ] as Part[]
    ).map(textOf);
    const body = [first, ...rest, "data: [DONE]"].join("");
    const seenAt = first!.length + rest[0]!.length - "\n\n".length;
    for (let length = seenAt; length <= body.length; length++) {
      const made = await madeOf(body.slice(0, length), "text/event-stream", true, false);
      expect([length, made]).toEqual([length, length < body.length ? "failed" : { text: "Hello", finish: "stop" }]);
    }
  });

  const hello: Made = { text: "Hello", finish: "stop" };
  const events = ([["Hel"], ["lo"], "stop", "done"] as Part[]).map(textOf).join("");
  const lines = events.replaceAll("data: {", "{").replaceAll("\n\n", "\n").replace("data: [DONE]\n", "");
  test.each([
    ...["text/event-stream", "application/json", "application/stream+json", "text/plain", "text/html", "x"].map(
      (type) => [type, events] as const,
    ),
    ...["application/x-ndjson", "application/jsonl", "application/stream+json"].map((type) => [type, lines] as const),
  ])("%s for a content type is what its bytes show", async (type, body) => {
    for (const stream of [true, false]) expect(await madeOf(body, type, stream, false)).toEqual(hello);
  });
});
