import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresMigrations } from "#db/migrations.ts";
import { migratePostgres, PostgresConnection } from "#db/postgres.ts";
import { runCommand } from "../../test/harness/command-line.ts";
import { eventually, postChat, startUpstream } from "../../test/harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import { freePort, type GatewayProcess, root, serve, startServing } from "../../test/harness/process.ts";
import { audited, callers } from "./load.ts";

/** Several gateways as processes on one PostgreSQL: what an operator does to them, and what happens to them. */
const haproxy = Bun.which("haproxy", { PATH: `${process.env["PATH"]}:/usr/sbin` });
const missing = postgresMissing();
if (missing !== undefined) console.warn(`The cluster is not tested: ${missing}.`);
else if (haproxy === null) console.warn("The rolling restart is not tested: haproxy is not installed.");

describe.skipIf(missing !== undefined)("a cluster", () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 60_000);
  afterAll(() => postgres?.remove());

  test("of ten nodes that start at once on an empty database all serve, and the schema is applied once", async () => {
    const url = await postgres.createDatabase();
    const nodes = await Promise.all(
      Array.from({ length: 10 }, (_, index) => serve({ DATABASE_URL: url, NODE_ID: `node-${index}` })),
    );
    const states = await Promise.all(nodes.map(async (node) => (await fetch(`${node.url}/readyz`)).status));
    expect(states).toEqual(nodes.map(() => 200));
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    expect(await audited(url)).toMatchObject({ findings: [] });
  }, 120_000);

  test("is prepared by the chart's job: its arguments in its own environment, on an image, and every command of a pod works", async () => {
    const url = await postgres.createDatabase();
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-job-"));
    writeFileSync(join(folder, "database-url"), `${url}\n`);
    const read = (file: string) => readFileSync(join(import.meta.dir, "..", file), "utf8");
    const job = read("chart/templates/migrate.yaml");
    const ofImage = [...(/^ENV ([\s\S]*?[^\\])$/m.exec(read("Dockerfile"))?.[1] ?? "").matchAll(/(\w+)=(\S+)/g)];
    const ofJob = [...job.matchAll(/\{ name: ([A-Z_]+), value: "?([^"\s}]*)"? \}/g)];
    expect(ofJob.map(([, name]) => name)).toEqual(["DATABASE_URL", "DATABASE_URL_FILE"]);
    const env = Object.fromEntries(
      [...ofImage, ...ofJob].map(([, name = "", value = ""]) => [
        name,
        value.replace("/run/secrets/smart-gateway", folder),
      ]),
    );
    const args = /args: \[(\w+)\]/.exec(job)?.[1] ?? "";
    const run = (...command: string[]) => runCommand(command, { cwd: folder, env });
    expect(await run(args, "--json")).toMatchObject({ code: 0, out: expect.stringContaining('"postgres"') });
    await using _ = await serve({ DATABASE_URL: url, DATABASE_MIGRATIONS: "require" });
    for (const command of ["budgets", "budgets audit", "budgets holds", "keys list", "decisions tail --no-follow"])
      expect([command, await run(...command.split(" "))]).toEqual([command, expect.objectContaining({ code: 0 })]);
    rmSync(folder, { recursive: true });
  }, 60_000);

  test("does not change the schema under a gateway of 1.0.0: it waits until that has stopped", async () => {
    const url = await postgres.createDatabase();
    const database = new PostgresConnection(url, 5_000);
    await migratePostgres(
      url,
      postgresMigrations.filter(({ version }) => version <= 10),
    );
    await database.run("INSERT INTO node SELECT 'old', 1, floor(extract(epoch FROM now()) * 1000)");
    const heartbeats = setInterval(
      () => void database.run("UPDATE node SET heartbeat_ms = floor(extract(epoch FROM now()) * 1000)"),
      1_000,
    );
    const migrate = Bun.spawn([process.execPath, join(root, "src", "main.ts"), "migrate"], {
      env: { PATH: process.env["PATH"] ?? "", DATABASE_URL: url },
      stdio: ["ignore", "ignore", "ignore"],
    });
    expect(await migrate.exited).toBe(1);

    const { output, listening } = startServing({ DATABASE_URL: url, NODE_ID: "new" });
    await eventually(() => output().includes("run on the database (old)"));
    clearInterval(heartbeats);
    await database.run("UPDATE node SET heartbeat_ms = heartbeat_ms - 15000");
    await using node = await listening;
    expect((await postChat(node.url)).status).toBe(200);
    await database.close();
  }, 60_000);

  test("keeps its cap on the upstream's own bill while nodes are killed, frozen, and their database is unavailable", async () => {
    const url = await postgres.createDatabase();
    const upstream = await startUpstream();
    const capUsd = 0.002;
    const policy = join(mkdtempSync(join(tmpdir(), "smart-gateway-cluster-")), "policy.json");
    await Bun.write(policy, JSON.stringify({ budget: { per_day_hard_usd: capUsd, per_goal_hard_usd: capUsd } }));
    const settings = { DATABASE_URL: url, UPSTREAM_BASE_URL: upstream.url, ROUTING_POLICY_PATH: policy };
    const start = (index: number) => serve({ ...settings, NODE_ID: `node-${index}` });
    const nodes: GatewayProcess[] = await Promise.all([0, 1, 2].map(start));
    let turn = 0;
    const load = callers(6, () => nodes[turn++ % nodes.length]?.url ?? "", false, 1_000);
    await eventually(() => load.count() > 50);
    nodes[0]?.signal("SIGKILL");
    await nodes[0]?.exited();
    nodes[1]?.signal("SIGSTOP");
    await eventually(() => load.count() > 100);
    await postgres.stop("immediate");
    nodes[1]?.signal("SIGCONT");
    const before = load.count();
    await eventually(() => load.count() > before + 20);
    await postgres.start();
    nodes[0] = await start(0);
    const again = load.count();
    await eventually(() => load.count() > again + 100);
    await load.stop();
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    expect(upstream.billedNanoUsd()).toBeGreaterThan(0);
    expect(upstream.billedNanoUsd()).toBeLessThanOrEqual(capUsd * 1e9);
    expect(await audited(url)).toMatchObject({ findings: [] });
    await upstream.stop();
  }, 120_000);

  test.skipIf(haproxy === null)(
    "is restarted node by node under load: no request is lost and no stream is cut",
    async () => {
      const url = await postgres.createDatabase();
      const ports = await Promise.all([1, 2, 3].map(() => freePort()));
      const [entry, operators] = [await freePort(), await freePort()];
      const start = (index: number) =>
        serve({ DATABASE_URL: url, PORT: String(ports[index]), NODE_ID: `node-${index}`, DRAIN_ACCEPT_MS: "5000" });
      const nodes = await Promise.all([0, 1, 2].map(start));
      const balancer = Bun.spawn([haproxy ?? "", "-db", "-f", join(import.meta.dir, "..", "haproxy.cfg")], {
        env: {
          BIND: `127.0.0.1:${entry}`,
          OPERATORS_BIND: `127.0.0.1:${operators}`,
          ...Object.fromEntries(ports.map((port, index) => [`GATEWAY_${index + 1}`, `127.0.0.1:${port}`])),
        },
        stdio: ["ignore", "ignore", "ignore"],
      });
      const address = `http://127.0.0.1:${entry}`;
      await eventually(() =>
        fetch(`http://127.0.0.1:${operators}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      // Callers reach the API alone, however they write a path.
      for (const path of [
        "/metrics",
        "/dashboard",
        "/healthz",
        "//metrics",
        "/v1/../metrics",
        "/v1/%2e%2e/metrics",
        "/%6detrics",
      ]) {
        const { stdout } = Bun.spawnSync([
          "curl",
          "-s",
          "--path-as-is",
          "-o",
          "/dev/null",
          "-w",
          "%{http_code}",
          address + path,
        ]);
        expect([path, stdout.toString()]).toEqual([path, "404"]);
      }
      const whole = callers(4, () => address, false);
      const streams = callers(4, () => address, true);
      for (const [index, node] of nodes.entries()) {
        const { count } = streams;
        const before = count();
        await eventually(() => count() > before + 10);
        node.signal("SIGTERM");
        expect(await node.exited()).toBe(0);
        nodes[index] = await start(index);
      }
      const [first, second] = [await whole.stop(), await streams.stop()];
      balancer.kill();
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
      expect([...first.others, ...second.others]).toEqual([]);
      expect(Math.min(first.answered, second.answered)).toBeGreaterThan(30);
      expect(await audited(url)).toMatchObject({ findings: [] });
    },
    120_000,
  );
});
