import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";

/**
 * Renders the chart for many values. Helm comes with `go install helm.sh/helm/v4/cmd/helm@v4.0.0` (3.17 to 3.19 do as well); manifests are held against the
 * schemas of Kubernetes where `pip install kubernetes-validate` has brought them, those of its extensions against the definitions
 * in their Go modules: `go mod download -json MODULE@VERSION`, once for each of `definitions`.
 */
const chart = join(import.meta.dir, "..", "chart");
const helm = Bun.which("helm") ?? Bun.which("helm", { PATH: `${process.env["HOME"]}/go/bin` });
const validator = Bun.which("kubernetes-validate");
if (helm === null) console.warn("The chart is not tested: helm is not installed.");
else if (validator === null)
  console.warn("Manifests are not held against schemas: kubernetes-validate is not installed.");

const modules = `${process.env["HOME"]}/go/pkg/mod`;
const gatewayApi = "sigs.k8s.io/gateway-api@v1.3.0";
const operator = "github.com/prometheus-operator/prometheus-operator@v0.83.0";
const definitions: Readonly<Record<string, string>> = {
  HTTPRoute: `${gatewayApi}/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml`,
  ServiceMonitor: `${operator}/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml`,
  PrometheusRule: `${operator}/example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml`,
};
const undefinedKinds = Object.keys(definitions).filter((kind) => !existsSync(join(modules, definitions[kind] ?? "")));
if (helm !== null && undefinedKinds.length > 0)
  console.warn(`Not held against their definitions, which are not downloaded: ${undefinedKinds.join(", ")}.`);

// biome-ignore lint/suspicious/noExplicitAny: manifests of a dozen kinds; what is asserted of them says enough
type Manifest = any;

function render(...set: readonly string[]): { error: string; text: string; manifests: Manifest[] } {
  const values = set.flatMap((value) => ["--set", value]);
  const command = [helm ?? "helm", "template", "release", chart, "--kube-version", "1.33.0", ...values];
  const { stdout, stderr } = Bun.spawnSync(command);
  const text = stdout.toString();
  const error = stderr.toString().replace(/^(?:walk\.go|level=INFO).*\n/gm, "");
  return { error, text, manifests: parseAllDocuments(text).map((document) => document.toJS() as Manifest) };
}

/** The schema of a custom resource, from its definition. Unknown fields are refused, as `kubectl apply` does. */
function definitionOf(kind: string) {
  const { spec } = parse(readFileSync(join(modules, definitions[kind] ?? ""), "utf8"));
  const served = spec.versions.find(({ name }: Manifest) => name === "v1").schema.openAPIV3Schema;
  served.properties.metadata.additionalProperties = true;
  return z.fromJSONSchema(strict(served));
}

function strict(schema: Manifest): Manifest {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== "object") return schema;
  // JavaScript has no such flag at the beginning of a pattern; without it the pattern accepts less.
  if (typeof schema.pattern === "string") schema.pattern = schema.pattern.replace("(?i)", "");
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, strict(value)]));
  const isClosed = schema.type === "object" && schema.properties !== undefined;
  return isClosed ? { additionalProperties: false, ...inner } : inner;
}

const postgres = ["database.kind=postgres", "secrets.name=gateway-secrets"];
const monitoring = ["serviceMonitor", "prometheusRule", "grafanaDashboard"].map((name) => `monitoring.${name}=true`);
const matrix: readonly (readonly [name: string, values: readonly string[]])[] = [
  ["as shipped", []],
  ["SQLite with secrets", ["secrets.name=gateway-secrets", "database.volume.storageClass=fast"]],
  ["SQLite without tokens", ["secrets.name=gateway-secrets", "secrets.authKeys=false", "secrets.dashboardToken=false"]],
  ["PostgreSQL", postgres],
  ["three on PostgreSQL", [...postgres, "replicas=3", "migrations.job=false", "podDisruptionBudget.enabled=false"]],
  ["autoscaled", [...postgres, "autoscaling.enabled=true", "image.digest=sha256:".padEnd(84, "0")]],
  ["monitored", [...postgres, ...monitoring, "monitoring.labels.release=prometheus"]],
  ["with an Ingress", ["ingress.enabled=true", "ingress.host=gateway.example", "ingress.tlsSecret=tls"]],
  [
    "with an HTTPRoute",
    ["httpRoute.enabled=true", "httpRoute.parentRefs[0].name=edge", "httpRoute.hosts[0]=a.example"],
  ],
  ["open network, own drain", ["networkPolicy.enabled=false", "settings.DRAIN_STREAMS_MS=1800000"]],
  [
    "policy and models",
    ["policy.budget.per_day_hard_usd=10", "models.vendor_v4_pro.enabled=false", "settings.WORKERS=4"],
  ],
];

describe.skipIf(helm === null)("the chart", () => {
  test.each(matrix)("renders %s", (_, values) => {
    const { error, text, manifests } = render(...values);
    expect(error).toBe("");
    for (const { kind, spec } of manifests) {
      const pod =
        kind === "Pod" ? spec : ["Deployment", "StatefulSet", "Job"].includes(kind) ? spec.template.spec : undefined;
      if (pod === undefined) continue;
      expect(pod).toMatchObject({ automountServiceAccountToken: false });
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      const [{ securityContext, env }] = pod.containers;
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      // Secrets are files: their values stand in no manifest and no environment.
      for (const { name, value, valueFrom } of env) {
        expect(valueFrom?.secretKeyRef, name).toBeUndefined();
        if (/KEY|TOKEN|DATABASE_URL/.test(name) && value !== "") expect(value, name).toStartWith("/run/secrets/");
      }
    }
    if (validator === null) return;
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-chart-"));
    writeFileSync(join(folder, "manifests.yaml"), text);
    const checked = Bun.spawnSync([validator, "--strict", "-k", "1.33", "--quiet", join(folder, "manifests.yaml")]);
    rmSync(folder, { recursive: true });
    expect(checked.exitCode, checked.stdout.toString() + checked.stderr.toString()).toBe(0);
  });

  test.each(Object.keys(definitions).filter((kind) => !undefinedKinds.includes(kind)))("renders a valid %s", (kind) => {
    const values = ["httpRoute.enabled=true", "httpRoute.parentRefs[0].name=edge", "httpRoute.hosts[0]=a.example"];
    const { manifests } = render(...values, ...monitoring, "monitoring.labels.release=prometheus");
    const found = manifests.filter((manifest) => manifest.kind === kind);
    expect(found).toHaveLength(1);
    const schema = definitionOf(kind);
    expect(schema.safeParse(found[0]).error).toBeUndefined();
    expect(schema.safeParse({ ...found[0], spec: { ...found[0].spec, unknown: 1 } }).success).toBe(false);
  });

  const workload = (...values: readonly string[]): Manifest =>
    render(...values).manifests.find(({ kind }) => kind === "Deployment" || kind === "StatefulSet");

  test("with SQLite runs one gateway with a volume, with PostgreSQL a Deployment that never has fewer", () => {
    expect(workload()).toMatchObject({ kind: "StatefulSet", spec: { replicas: 1 } });
    const deployment = workload(...postgres, "replicas=3");
    expect(deployment).toMatchObject({
      kind: "Deployment",
      spec: { replicas: 3, strategy: { rollingUpdate: { maxUnavailable: 0 } } },
    });
    expect(deployment.spec.template.spec.topologySpreadConstraints).toHaveLength(2);
    expect(workload(...postgres, "autoscaling.enabled=true").spec.replicas).toBeUndefined();
  });

  test.each([
    ["several gateways on SQLite", ["replicas=2"], "several gateways need one PostgreSQL database"],
    ["a scaled SQLite", ["autoscaling.enabled=true"], "several gateways need one PostgreSQL database"],
    ["PostgreSQL without its address", ["database.kind=postgres"], "needs secrets.name"],
    ["a setting that is none", ["settings.PROT=1"], "PROT"],
    ["a setting of a wrong form", ["settings.WORKERS=many"], "WORKERS"],
    ["a secret in plain", ["settings.UPSTREAM_API_KEY=x"], "UPSTREAM_API_KEY"],
    ["an unknown value", ["replica=2"], "replica"],
  ])("refuses %s", (_, values, message) => {
    expect(render(...values).error).toContain(message);
  });

  test("gives a pod longer to end than a drain takes, and probes that a drain does not fail", () => {
    for (const [streamsMs, graceS] of [
      [600_000, 635],
      [1_800_500, 1_836],
    ] as const) {
      const { spec } = workload(`settings.DRAIN_STREAMS_MS=${streamsMs}`).spec.template;
      expect(spec.terminationGracePeriodSeconds).toBe(graceS);
      const [{ startupProbe, livenessProbe, readinessProbe }] = spec.containers;
      expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
        "/livez",
        "/livez",
        "/readyz",
      ]);
    }
  });

  test("rolls the pods when a setting changes, and not when policy or models do: those are read again", () => {
    const template = (...values: string[]) => JSON.stringify(workload(...values).spec.template);
    expect(template("settings.LOG_LEVEL=debug")).not.toBe(template());
    expect(template("policy.budget.per_day_hard_usd=1", "models.vendor_v4_pro.enabled=false")).toBe(template());
  });

  test("lets a gateway reach names, its database and the aggregator, and nothing else", () => {
    const policy = render(...postgres).manifests.find(({ kind }) => kind === "NetworkPolicy");
    const ports = policy.spec.egress.map(({ ports }: Manifest) => ports.map(({ port }: Manifest) => port));
    expect(ports).toEqual([[53, 53], [5432], [443]]);
    expect(policy.spec.egress[2].to[0].ipBlock.except).toContain("169.254.0.0/16");
  });

  test("lets a gateway reach a proxy, a model server and a collector that the values name", () => {
    const to = (name: string) => [
      `networkPolicy.${name}.to[0].podSelector.matchLabels.app=${name}`,
      `networkPolicy.${name}.port=99`,
    ];
    const policy = render(...postgres, ...["proxy", "upstream", "otlp"].flatMap(to)).manifests.find(
      ({ kind }) => kind === "NetworkPolicy",
    );
    const further = policy.spec.egress
      .slice(3)
      .map(({ to, ports }: Manifest) => [to[0].podSelector.matchLabels.app, ports[0].port]);
    expect(further).toEqual([
      ["proxy", 99],
      ["upstream", 99],
      ["otlp", 99],
    ]);
  });

  test("lets in the API alone, whatever stands in front; the job is bounded and placed as the pods are", () => {
    const routes = ["ingress.enabled=true", "httpRoute.enabled=true", "httpRoute.parentRefs[0].name=edge"];
    const { manifests } = render(...postgres, ...routes, "tolerations[0].key=spot", "nodeSelector.disk=ssd");
    const of = (wanted: string) => manifests.find(({ kind }) => kind === wanted);
    expect(of("Ingress").spec.rules[0].http.paths.map(({ path }: Manifest) => path)).toEqual(["/v1"]);
    expect(of("HTTPRoute").spec.rules[0].matches).toEqual([{ path: { type: "PathPrefix", value: "/v1" } }]);
    const { activeDeadlineSeconds, template } = of("Job").spec;
    expect(activeDeadlineSeconds).toBe(600);
    expect(template.spec).toMatchObject({ tolerations: [{ key: "spot" }], nodeSelector: { disk: "ssd" } });
    expect(template.spec.containers[0].resources.limits.memory).toBe("512Mi");
  });

  test("lets a first token take five minutes at the proxies in front", () => {
    const { manifests } = render("ingress.enabled=true", "httpRoute.enabled=true", "httpRoute.parentRefs[0].name=edge");
    const ingress = manifests.find(({ kind }) => kind === "Ingress").metadata.annotations;
    expect(Number(ingress["nginx.ingress.kubernetes.io/proxy-read-timeout"])).toBeGreaterThan(300);
    const route = manifests.find(({ kind }) => kind === "HTTPRoute").spec.rules[0].timeouts;
    expect(Number.parseInt(route.request, 10)).toBeGreaterThan(300);
  });
});
