import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import { fails } from "#simulator/behaviours.ts";
import type { Simulator } from "#simulator/simulator.ts";
import { type Answer, authorization, eventually, postChat, startUpstream, upstreamKey } from "../harness/gateway.ts";
import { type GatewayProcess, root, serve } from "../harness/process.ts";

interface Received {
  readonly path: string;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: Answer;
}

/** A collector of OTLP over HTTP. */
class Collector {
  readonly received: Received[] = [];
  readonly #server: Server;
  status = 200;

  constructor() {
    this.#server = createServer(async (request, response) => {
      let text = "";
      for await (const part of request) text += part;
      this.received.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(text) });
      response.writeHead(this.status, { "content-type": "application/json" }).end("{}");
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  spans(): Answer[] {
    return this.received
      .filter(({ path }) => path === "/v1/traces")
      .flatMap(({ body }) => body.resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans);
  }

  /** The newest state of each metric. */
  metrics(): Map<string, Answer> {
    const all = this.received
      .filter(({ path }) => path === "/v1/metrics")
      .flatMap(({ body }) => body.resourceMetrics)
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics);
    return new Map(all.map((metric: Answer) => [metric.name, metric]));
  }
}

/** Attributes as plain values. */
const valuesOf = (attributes: Answer[]): { [key: string]: unknown } =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.intValue ??
        value.boolValue ??
        value.doubleValue ??
        value.arrayValue?.values.map((each: Answer) => each.stringValue),
    ]),
  );
const flashId = "deepseek/deepseek-v4-flash";
const secretWords = "a sentence that nobody but the two may read";

let collector: Collector;
let upstream: Simulator;
let gateway: GatewayProcess;
let otlp: string;
const env = (): Record<string, string> => ({
  DATABASE_URL: "sqlite::memory:",
  UPSTREAM_BASE_URL: upstream.url,
  UPSTREAM_API_KEY: upstreamKey,
  NODE_ID: "node-7",
});

beforeAll(async () => {
  collector = new Collector();
  otlp = await collector.listen();
  upstream = await startUpstream();
  gateway = await serve({
    ...env(),
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp,
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=team-a",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_METRIC_EXPORT_INTERVAL: "200",
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream.stop();
  await collector.stop();
});

const chat = (body: object = {}, headers: Record<string, string> = {}) =>
  postChat(gateway.url, { messages: [{ role: "user", content: secretWords }], ...body }, headers);

/** The spans of one trace, as soon as there are this many. */
async function spansOf(traceId: string, count: number): Promise<{ server: Answer; clients: Answer[] }> {
  const of = () => collector.spans().filter((span: Answer) => span.traceId === traceId);
  await eventually(
    () => of().length >= count,
    () => JSON.stringify(of()),
  );
  return { server: of().find(({ kind }) => kind === 2), clients: of().filter(({ kind }) => kind === 3) };
}

let traces = 0;
const newTrace = () => {
  const traceId = String(++traces).padStart(32, "a");
  return { traceId, headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } };
};

describe("a gateway with OTEL_*", () => {
  test("creates one SERVER span of a request and one CLIENT span of its call, in the caller's trace", async () => {
    const { traceId, headers } = newTrace();
    const before = upstream.received();
    const response = await chat({ max_tokens: 50 }, headers);
    expect(response.status).toBe(200);
    const { server, clients } = await spansOf(traceId, 2);
    const [client] = clients;
    expect([server.name, server.parentSpanId, clients.length]).toEqual([
      "POST /v1/chat/completions",
      "00f067aa0ba902b7",
      1,
    ]);
    expect(valuesOf(server.attributes)).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
      "smart_gateway.cause": "explicit_flash",
      "smart_gateway.decision_id": response.headers.get("x-smart-gateway-decision-id"),
      "smart_gateway.request_id": response.headers.get("x-request-id"),
      "smart_gateway.answered_by": "vendor_v4_flash",
    });
    expect(Object.keys(valuesOf(server.attributes)).filter((key) => key.startsWith("gen_ai."))).toEqual([]);
    const { usage } = (await response.json()) as Answer;
    expect([client.name, client.parentSpanId]).toEqual([`chat ${flashId}`, server.spanId]);
    expect(valuesOf(client.attributes)).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": flashId,
      "gen_ai.request.max_tokens": 50,
      "gen_ai.request.stream": false,
      "gen_ai.response.model": flashId,
      "gen_ai.response.finish_reasons": [expect.stringMatching(/^(stop|length)$/)],
      "gen_ai.usage.input_tokens": usage.prompt_tokens,
      "gen_ai.usage.output_tokens": usage.completion_tokens,
      "server.address": "127.0.0.1",
      "server.port": upstream.port,
      "smart_gateway.model": "vendor_v4_flash",
    });
    const sent = (await upstream.request(before)).headers;
    expect(sent["traceparent"]).toBe(`00-${traceId}-${client.spanId}-01`);
  });

  test("creates a CLIENT span of every attempt, with the kind of each failure", async () => {
    const { traceId, headers } = newTrace();
    upstream.next(fails(500));
    expect((await chat({}, headers)).status).toBe(200);
    const { clients } = await spansOf(traceId, 3);
    const failed = clients.filter(({ status }) => status.code === 2);
    expect([clients.length, failed.length]).toEqual([2, 1]);
    const error = { "error.type": "upstream_error", "http.response.status_code": 500 };
    expect(valuesOf(failed[0].attributes)).toMatchObject(error);
  });

  test("does not send the caller's tracestate to the upstream", async () => {
    const { traceId, headers } = newTrace();
    const before = upstream.received();
    await chat({}, { ...headers, tracestate: "vendor=private" });
    const { server } = await spansOf(traceId, 2);
    expect(server.traceState).toBe("vendor=private");
    expect((await upstream.request(before)).headers["tracestate"]).toBeUndefined();
  });

  test("exports the four histograms of GenAI clients, with its resource attributes", async () => {
    await chat({ stream: true }).then((response) => response.text());
    const names = [
      "gen_ai.client.operation.duration",
      "gen_ai.client.operation.time_per_output_chunk",
      "gen_ai.client.operation.time_to_first_chunk",
      "gen_ai.client.token.usage",
    ];
    await eventually(() => names.every((name) => collector.metrics().has(name)));
    expect([...collector.metrics().keys()].toSorted()).toEqual(names);
    const usage = collector.metrics().get("gen_ai.client.token.usage");
    expect(usage.unit).toBe("{token}");
    const types = usage.histogram.dataPoints.map((point: Answer) => valuesOf(point.attributes)["gen_ai.token.type"]);
    expect(new Set(types)).toEqual(new Set(["input", "output"]));
    const duration = collector.metrics().get("gen_ai.client.operation.duration");
    expect(duration.histogram.dataPoints[0].explicitBounds).toEqual([
      0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ]);
    const { headers, body } = collector.received[0] as Received;
    expect(headers["x-tenant"]).toBe("team-a");
    const [resource] = body.resourceSpans ?? body.resourceMetrics;
    expect(valuesOf(resource.resource.attributes)).toMatchObject({
      "service.name": "smart-gateway",
      "service.instance.id": "node-7",
      "deployment.environment.name": "test",
    });
  });

  test("exports no text of prompts or answers, and no keys", async () => {
    await eventually(() => collector.spans().length > 0);
    const all = JSON.stringify(collector.received);
    for (const secret of [secretWords, "one", "three", upstreamKey, authorization.authorization])
      if (secret.length > 5) expect(all).not.toContain(secret);
  });
});

describe("without OTEL_*", () => {
  test("no SDK and no exporter of OpenTelemetry is loaded", async () => {
    const script = `
      const { startGateway } = await import("#gateway/start.ts");
      const { parseSettings } = await import("#config/settings.ts");
      const parsed = parseSettings({ ...process.env, PORT: "0", DATABASE_URL: "sqlite::memory:" });
      const { gateway } = await startGateway(parsed.settings);
      await fetch(gateway.url + "/v1/models", { headers: { authorization: "Bearer 12345678" } });
      const modules = Object.keys(require.cache);
      // Only the API package is loaded, as a dependency of the metrics client.
      const loaded = modules.filter((name) => /@opentelemetry.(sdk|exporter|otlp|resources|core)/.test(name));
      console.log(loaded.length, modules.length > 50);
      process.exit(0);`;
    const loaded = async (env: Record<string, string>) => {
      const child = Bun.spawn([process.execPath, "-e", script], {
        cwd: root,
        env: { PATH: process.env["PATH"] ?? "", ...env },
        stdout: "pipe",
        stderr: "pipe",
      });
      const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      return out.trim() + err;
    };
    expect(await loaded({})).toBe("0 true");
    expect(await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" })).toMatch(/^[1-9]\d* true$/);
  });
});
