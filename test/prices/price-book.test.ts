import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "#domain/chat.ts";
import { systemClock } from "#platform/system-clock.ts";
import { eventually, start, upstreamIds, upstreamKey } from "../harness/gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "price-book-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const databaseUrl = () => `sqlite:${join(folder, `${++files}.db`)}`;

type Answers = (response: ServerResponse) => void;
const json =
  (value: unknown): Answers =>
  (response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
const listed = (prices: { [id: string]: object }) =>
  json({ data: Object.entries(prices).map(([id, pricing]) => ({ id, pricing })) });
const flash = upstreamIds["vendor_v4_flash"] ?? "";
const flashAt = (prompt: string, completion = "0.00000028") => listed({ [flash]: { prompt, completion } });

/** An aggregator with a list that the test sets; it answers chats and stores the requests. */
async function aggregator(list: Answers) {
  // No host serves the flash model for less than `cheapest` USD per million prompt tokens.
  const state = { list, cheapest: 0, chats: [] as JsonObject[], lists: [] as IncomingMessage["headers"][] };
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      state.lists.push(request.headers);
      state.list(response);
      return;
    }
    let text = "";
    for await (const part of request) text += part;
    const chat = JSON.parse(text);
    state.chats.push(chat);
    if (chat.model === flash && chat.provider?.max_price?.prompt < state.cheapest) {
      const error = { code: 404, message: "filtered", availability: { code: "constraint_filtered" } };
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error }));
      return;
    }
    const choices = [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 100, completion_tokens: 10 };
    json({ id: "g", object: "chat.completion", created: 1, model: flash, choices, usage })(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    state,
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const both = { price_book: "on", price_limit: "on" };
type Upstream = Awaited<ReturnType<typeof aggregator>>;
const gatewayAt = (upstream: Upstream, more: { policy?: object; models?: object; database?: string } = {}) =>
  start({
    policy: { upstream: { ...both, ...more.policy } },
    ...(more.models === undefined ? {} : { models: more.models }),
    env: { UPSTREAM_BASE_URL: upstream.url, DATABASE_URL: more.database ?? "sqlite::memory:" },
  });
const inputPrice = (gateway: Awaited<ReturnType<typeof start>>) =>
  gateway.gateway.ports.config().registry.models.get("vendor_v4_flash")?.price.input as number;

describe("a gateway that reads its aggregator's prices", () => {
  test("holds, settles and limits with them from its first request on, and names their version", async () => {
    await using upstream = await aggregator(flashAt("0.00000021", "0.00000042"));
    const database = databaseUrl();
    const gateway = await gatewayAt(upstream, { database });
    expect(upstream.state.lists).toHaveLength(1);
    expect(JSON.stringify(upstream.state.lists)).not.toContain(upstreamKey);
    expect(upstream.state.lists[0]).not.toHaveProperty("authorization");
    expect((await gateway.chat()).status).toBe(200);
    expect(upstream.state.chats[0]?.["provider"]).toEqual({
      max_price: { prompt: 0.21, completion: 0.42, request: 0 },
    });
    expect((await gateway.ledger()).spent).toBe(100 * 210 + 10 * 420);
    const { priceVersion } = gateway.gateway.ports.config().registry;
    const finished = gateway.log.find(({ event }) => event === "request_finished");
    expect(finished?.fields["price_version"]).toBe(priceVersion as string);
    expect(gateway.log.find(({ event }) => event === "price_book_read")?.fields).toEqual({
      listed: 1,
      models: 4,
      price_version: priceVersion,
    });
    expect(await (await gateway.get("/metrics")).text()).toMatch(/smart_gateway_price_book_read_seconds \d{10}/);
    await gateway.stop();
    const db = new Database(database.slice("sqlite:".length), { readonly: true });
    expect(db.query("SELECT reason FROM ledger_entry WHERE event = 'admitted'").all()).toEqual([
      { reason: `dispatched, prices ${priceVersion}` },
    ]);
    db.close();
  });

  test("gives the operator's own prices precedence, through reloads too", async () => {
    await using upstream = await aggregator(
      listed({
        [flash]: { prompt: "0.00000016", completion: "0.00000028" },
        "deepseek/deepseek-v4-pro": { prompt: "0.0000005", completion: "0.000001" },
      }),
    );
    await using gateway = await gatewayAt(upstream, {
      models: { vendor_v4_flash: { prices: { input: 1, output: 2 } } },
    });
    const proPrice = () => gateway.gateway.ports.config().registry.models.get("vendor_v4_pro")?.price.input as number;
    expect([inputPrice(gateway), proPrice()]).toEqual([1_000_000_000, 500_000_000]);
    const path = gateway.gateway.settings.registryPath ?? "";
    const version = gateway.gateway.ports.config().registry.priceVersion;
    writeFileSync(path, JSON.stringify({ models: { vendor_v4_flash: { prices: { input: 3, output: 2 } } } }));
    expect((await gateway.gateway.reload()).kind).toBe("reloaded");
    expect([inputPrice(gateway), proPrice()]).toEqual([3_000_000_000, 500_000_000]);
    expect(gateway.gateway.ports.config().registry.priceVersion).not.toBe(version as string);
    writeFileSync(path, JSON.stringify({ models: {} }));
    await gateway.gateway.reload();
    expect([inputPrice(gateway), proPrice()]).toEqual([160_000_000, 500_000_000]);
  });
});

test("traffic of a model whose price rises goes to the next model only until the list is read again", async () => {
  const time = { offsetMs: 0 };
  const clock = { ...systemClock, now: () => systemClock.now() + time.offsetMs };
  await using upstream = await aggregator(flashAt("0.00000014"));
  await using gateway = await start({
    policy: { upstream: both },
    env: { UPSTREAM_BASE_URL: upstream.url },
    overrides: { clock },
  });
  upstream.state.list = flashAt("0.0000002");
  upstream.state.cheapest = 0.2;
  const answeredBy = async () => (await gateway.chat()).headers.get("x-smart-gateway-answered-by");
  time.offsetMs = 3_600_000;
  expect(await answeredBy()).toBe("vendor_v4_pro");
  await eventually(() => inputPrice(gateway) === 200_000_000);
  expect(await answeredBy()).toBe("vendor_v4_flash");
});

describe("a list that cannot be read", () => {
  const broken: [string, Answers][] = [
    ["answers 500", (response) => void response.writeHead(500).end()],
    ["redirects", (response) => void response.writeHead(302, { location: "http://127.0.0.1:9/models" }).end()],
    ["is a web page", (response) => void response.writeHead(200).end("<html>")],
    [
      "is cut off",
      (response) => void response.writeHead(200, { "content-length": "99" }).write("{", () => response.destroy()),
    ],
    ["is another list", json({ data: [{ id: flash }] })],
    ["names no price", flashAt("-1")],
  ];
  test.each(broken)(
    "because it %s leaves the last known prices in force, and does not stop a start",
    async (_, list) => {
      await using upstream = await aggregator(flashAt("0.00000021"));
      const database = databaseUrl();
      await (await gatewayAt(upstream, { database })).stop();
      upstream.state.list = list;
      await using gateway = await gatewayAt(upstream, { database });
      expect(inputPrice(gateway)).toBe(210_000_000);
      expect((await gateway.chat()).status).toBe(200);
      // Confirmed once, the price is still sent as the limit.
      expect(upstream.state.chats[0]?.["provider"]).toMatchObject({ max_price: { prompt: 0.21 } });
    },
  );

  test("leaves the shipped prices if none were ever known, and sends no limit", async () => {
    await using upstream = await aggregator((response) => void response.writeHead(503).end());
    await using gateway = await gatewayAt(upstream);
    expect(inputPrice(gateway)).toBe(140_000_000);
    await gateway.chat();
    expect(upstream.state.chats[0]).not.toHaveProperty("provider");
    expect(gateway.log.filter(({ event }) => event === "price_book_unavailable")).toEqual([
      { event: "price_book_unavailable", fields: { detail: "the list of models: it answered 503" } },
    ]);
  });

  test("does not delay a start for long, and is applied when it arrives", async () => {
    const waiting: ServerResponse[] = [];
    await using upstream = await aggregator((response) => void waiting.push(response));
    const before = performance.now();
    await using gateway = await gatewayAt(upstream);
    const startedMs = performance.now() - before;
    expect(waiting).toHaveLength(1);
    expect(startedMs).toBeLessThan(5_000);
    expect(inputPrice(gateway)).toBe(140_000_000);
    expect((await gateway.chat()).status).toBe(200);
    for (const response of waiting) flashAt("0.00000021")(response);
    await eventually(() => inputPrice(gateway) === 210_000_000);
  });
});
