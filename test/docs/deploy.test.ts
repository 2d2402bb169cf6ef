import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { parse } from "yaml";
import { settingsTable } from "#config/settings.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { type Answer, start, type TestGateway } from "../harness/gateway.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}
const rules: Rule[] = parse(read("deploy/prometheus/alerts.yaml")).groups.flatMap(({ rules }: Answer) => rules);
const dashboard: Answer = JSON.parse(read("deploy/grafana/dashboard.json"));
const targets: [string, string][] = dashboard.panels.flatMap((panel: Answer) =>
  (panel.targets ?? []).map(({ expr }: Answer): [string, string] => [panel.title, expr]),
);
/** Grafana replaces these by values before Prometheus sees them. */
const asPrometheusSeesIt = (expr: string) => expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*");

interface Selector {
  readonly metric: string;
  readonly labels: readonly { readonly name: string; readonly operator: string; readonly value: string }[];
}

/** The selectors of an expression, and whether it is valid PromQL. */
function parsed(expr: string): { readonly valid: boolean; readonly selectors: readonly Selector[] } {
  let valid = true;
  const selectors: Selector[] = [];
  const text = (node: { from: number; to: number } | null) => (node === null ? "" : expr.slice(node.from, node.to));
  parser.parse(expr).iterate({
    enter(node) {
      if (node.type.isError) valid = false;
      if (node.name !== "VectorSelector") return;
      const labels: Selector["labels"][number][] = [];
      node.node.cursor().iterate((inner) => {
        if (!/LabelMatcher$/.test(inner.name)) return;
        const { firstChild, lastChild } = inner.node;
        labels.push({
          name: text(firstChild),
          operator: text(inner.node.getChild("MatchOp")),
          value: text(lastChild).slice(1, -1),
        });
      });
      selectors.push({ metric: text(node.node.getChild("Identifier")), labels });
    },
  });
  return { valid, selectors };
}

let gateway: TestGateway;
let exposed = "";
let names: ReadonlySet<string>;
beforeAll(async () => {
  gateway = await start();
  await gateway.chat();
  await gateway.chat({ stream: true }).then((response) => response.text());
  await gateway.chat({ model: "nobody" });
  exposed = await (await gateway.get("/metrics")).text();
  const types = [...exposed.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type]) => ({ name, type }));
  names = new Set(
    types.flatMap(({ name, type }) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
});
afterAll(() => gateway.stop());

const catalog = new Map(
  createMetrics()
    .catalog()
    .map((metric) => [metric.name, metric]),
);
/** Added by Prometheus. */
const scraped = ["instance", "job"];

/** The parts of an expression that a started gateway does not expose. */
function unknownIn(expr: string): string[] {
  const { valid, selectors } = parsed(expr);
  const problems = valid ? [] : ["not PromQL"];
  if (selectors.length === 0) problems.push("selects nothing");
  for (const { metric, labels } of selectors) {
    if (!names.has(metric)) problems.push(`no metric ${metric}`);
    const declared = catalog.get(metric) ?? catalog.get(metric.replace(/_(bucket|sum|count)$/, ""));
    const known = [...(declared?.labelNames ?? []), ...scraped, ...(metric.endsWith("_bucket") ? ["le"] : [])];
    const samples = exposed.split("\n").filter((line) => line.startsWith(`${metric}{`));
    for (const { name, operator, value } of labels) {
      if (!known.includes(name)) problems.push(`${metric} has no label ${name}`);
      const compared =
        operator === "=" && !scraped.includes(name) && samples.length > 0 && !["cause", "outcome"].includes(name);
      if (compared && !samples.some((line) => line.includes(`${name}="${value}"`)))
        problems.push(`${metric} never has ${name}="${value}"`);
    }
  }
  return problems;
}

describe("the alert rules", () => {
  test.each(rules.map((rule): [string, Rule] => [rule.alert, rule]))("%s uses only exposed metrics", (_, rule) => {
    expect(unknownIn(rule.expr)).toEqual([]);
    expect(["warning", "critical"]).toContain(rule.labels.severity);
    expect(rule.annotations.summary).not.toBe("");
  });

  test.each(rules.map(({ alert, annotations }): [string, string] => [alert, annotations.runbook]))(
    "%s has a heading in the manual, with instructions",
    (alert, runbook) => {
      const section = read("docs/operating.md").split(`\n### ${alert}\n`)[1]?.split("\n#")[0] ?? "";
      expect(section.trim().length).toBeGreaterThan(80);
      expect(runbook).toBe(`docs/operating.md#${alert.toLowerCase()}`);
    },
  );
});

describe("the Grafana dashboard", () => {
  test.each(targets)("%s: %s uses only exposed metrics", (_, expr) => {
    expect(unknownIn(asPrometheusSeesIt(expr))).toEqual([]);
  });
});

test("the container file sets only existing settings, and has a numeric user", () => {
  const names = [...read("deploy/Dockerfile").matchAll(/^ENV (\w+)=|^ {4}([A-Z_]+)=/gm)].map(
    ([, a, b]) => a ?? b ?? "",
  );
  expect(names.length).toBeGreaterThan(4);
  for (const name of names.filter((each) => each !== "MIMALLOC_PURGE_DELAY"))
    expect(Object.keys(settingsTable)).toContain(name);
  expect(read("deploy/Dockerfile")).toMatch(/^USER \d+:\d+$/m);
});
