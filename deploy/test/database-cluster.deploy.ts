import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { PostgresConnection } from "#db/postgres.ts";
import { runCommand } from "../../test/harness/command-line.ts";
import { type CuttingProxy, cuttingProxy } from "../../test/harness/cutting-proxy.ts";
import { startUpstream } from "../../test/harness/gateway.ts";
import { freePort, type GatewayProcess, serve } from "../../test/harness/process.ts";
import { audited, callers } from "./load.ts";

/**
 * The database cluster of docs/operating.md on loopback: three PostgreSQL under Patroni and etcd behind HAProxy's check of the primary,
 * and three gateways under load. On Debian: apt-get install patroni etcd-server haproxy postgresql.
 */
const path = { PATH: `${process.env["PATH"]}:/usr/sbin` };
const [patroni, etcd, haproxy] = ["patroni", "etcd", "haproxy"].map((name) => Bun.which(name, path) ?? undefined);
const versions = fs.existsSync("/usr/lib/postgresql") ? fs.readdirSync("/usr/lib/postgresql") : [];
const bin = versions
  .map((version) => `/usr/lib/postgresql/${version}/bin`)
  .findLast((folder) => fs.existsSync(`${folder}/postgres`));
const account = fs
  .readFileSync("/etc/passwd", "utf8")
  .split("\n")
  .find((line) => line.startsWith("postgres:"))
  ?.split(":");
const [uid, gid] = [Number(account?.[2]), Number(account?.[3])];
const identity = process.getuid?.() === 0 ? { uid, gid } : {};
const missing = [
  ...Object.entries({ patroni, etcd, haproxy, postgresql: bin }).flatMap(([name, found]) =>
    found === undefined ? [name] : [],
  ),
  ...(process.getuid?.() === 0 && account === undefined ? ["the user postgres"] : []),
];
if (missing.length > 0) console.warn(`The database cluster is not tested: there is no ${missing.join(", no ")}.`);

/** Seconds; Patroni takes a leader for dead after `ttl`. */
const dcs = { ttl: 20, loop_wait: 2, retry_timeout: 3, maximum_lag_on_failover: 67_108_864 };

interface Member {
  readonly name: string;
  readonly port: number;
  readonly rest: number;
  /** What standbys read its WAL through. */
  readonly proxy: CuttingProxy;
  process: ChildProcess | undefined;
}

describe.skipIf(missing.length > 0)("gateways on a database cluster that fails over", () => {
  const folder = fs.mkdtempSync("/tmp/smart-gateway-cluster-");
  const members: Member[] = [];
  const children: ChildProcess[] = [];
  let url = "";
  let etcdPort = 0;

  function run(command: string, args: readonly string[], as: object = identity): ChildProcess {
    const child = spawn(command, args, {
      cwd: folder,
      ...as,
      stdio: "ignore",
      env: { ...path, LC_ALL: "C", HOME: folder },
    });
    children.push(child);
    return child;
  }

  const rest = async (member: Member, route: string, init?: RequestInit) =>
    (await fetch(`http://127.0.0.1:${member.rest}${route}`, { signal: AbortSignal.timeout(3_000), ...init }).catch(
      () => undefined,
    )) ?? new Response(null, { status: 503 });
  const leader = async () => {
    for (const member of members) if ((await rest(member, "/primary")).status === 200) return member;
    return undefined;
  };
  const streaming = async () => {
    const first = await leader();
    if (first === undefined) return 0;
    const state = (await (await rest(first, "/patroni")).json()) as { replication?: { state: string }[] };
    return state.replication?.filter((standby) => standby.state === "streaming").length ?? 0;
  };
  /** Until something holds that takes Patroni a while. */
  const eventually = async (holds: () => boolean | Promise<boolean>) => {
    const deadlineMs = performance.now() + 90_000;
    while (!(await holds())) {
      if (performance.now() > deadlineMs) throw new Error(`did not hold within 90 s: ${holds}`);
      await Bun.sleep(50);
    }
  };

  function start(member: Member): void {
    const file = join(folder, `${member.name}.json`);
    const configuration = {
      scope: "ledger",
      name: member.name,
      restapi: { listen: `127.0.0.1:${member.rest}`, connect_address: `127.0.0.1:${member.rest}` },
      etcd3: { hosts: [`127.0.0.1:${etcdPort}`] },
      bootstrap: {
        dcs: {
          ...dcs,
          synchronous_mode: false,
          postgresql: { use_pg_rewind: true, parameters: { max_connections: 60, wal_log_hints: "on" } },
        },
        initdb: [{ encoding: "UTF8" }, "data-checksums"],
      },
      postgresql: {
        listen: `127.0.0.1:${member.port}`,
        connect_address: `127.0.0.1:${member.proxy.port}`,
        data_dir: join(folder, member.name),
        bin_dir: bin,
        pgpass: join(folder, `${member.name}.pgpass`),
        authentication: {
          superuser: { username: "postgres", password: "drill" },
          replication: { username: "replicator", password: "drill" },
        },
        parameters: { unix_socket_directories: folder, shared_buffers: "32MB" },
        pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
      },
    };
    fs.writeFileSync(file, JSON.stringify(configuration));
    member.process = run(patroni ?? "", [file]);
  }

  /** As a machine that loses its power: Patroni and every process of its server end at once. */
  function kill(member: Member): void {
    const pid = Number(fs.readFileSync(join(folder, member.name, "postmaster.pid"), "utf8").split("\n")[0]);
    member.process?.kill("SIGKILL");
    for (const each of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(each, "SIGKILL");
      } catch {
        // A child that has ended meanwhile.
      }
    }
  }

  beforeAll(async () => {
    if (identity.uid !== undefined) fs.chownSync(folder, uid, gid);
    etcdPort = await freePort();
    const peer = `http://127.0.0.1:${await freePort()}`;
    const client = `http://127.0.0.1:${etcdPort}`;
    const listen = ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer];
    run(etcd ?? "", [
      "--data-dir",
      join(folder, "etcd"),
      ...listen,
      "--initial-advertise-peer-urls",
      peer,
      "--initial-cluster",
      `default=${peer}`,
    ]);
    for (const name of ["one", "two", "three"]) {
      const port = await freePort();
      members.push({ name, port, rest: await freePort(), proxy: await cuttingProxy(port), process: undefined });
    }
    const entry = await freePort();
    const servers = members.map(({ name, port, rest }) => `  server ${name} 127.0.0.1:${port} check port ${rest}`);
    fs.writeFileSync(
      join(folder, "haproxy.cfg"),
      `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
listen primary
  bind 127.0.0.1:${entry}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
    );
    const [first] = members;
    if (first === undefined) throw new Error("unreachable");
    start(first);
    await eventually(async () => (await leader()) !== undefined);
    for (const member of members.slice(1)) start(member);
    await eventually(async () => (await streaming()) === 2);
    run(haproxy ?? "", ["-db", "-f", join(folder, "haproxy.cfg")]);
    url = `postgres://postgres@127.0.0.1:${entry}/postgres`;
    await eventually(async () => (await query("SELECT 1 AS one")).length === 1);
  }, 180_000);

  afterAll(async () => {
    for (const member of members) member.process?.kill("SIGKILL");
    for (const member of members) {
      try {
        kill(member);
      } catch {
        // It has ended.
      }
      await member.proxy.close();
    }
    for (const child of children) child.kill("SIGKILL");
    fs.rmSync(folder, { recursive: true, force: true });
  });

  async function query(sql: string) {
    const connection = new PostgresConnection(url, 5_000);
    try {
      return (await connection.run(sql))[0] ?? [];
    } catch {
      return [];
    } finally {
      await connection.close();
    }
  }
  const lost = async () =>
    Number((await query("SELECT coalesce(sum(batches), 0) AS batches FROM lost_commits"))[0]?.["batches"]);

  test("the cap holds, nothing is refused for good, and lost commits come back: fail-over, return, switch-over, synchronous mode", async () => {
    const upstream = await startUpstream();
    const capUsd = 0.05;
    const policy = join(folder, "policy.json");
    await Bun.write(policy, JSON.stringify({ budget: { per_day_hard_usd: capUsd, per_goal_hard_usd: capUsd } }));
    const settings = {
      DATABASE_URL: url,
      UPSTREAM_BASE_URL: upstream.url,
      ROUTING_POLICY_PATH: policy,
      LOG_FORMAT: "json",
    };
    const gateways: GatewayProcess[] = [];
    for (const index of [0, 1, 2]) gateways.push(await serve({ ...settings, NODE_ID: `node-${index}` }));
    let turn = 0;
    const load = callers(6, () => gateways[turn++ % gateways.length]?.url ?? "", false, 5_000);
    const healthy = async () => {
      const states = await Promise.all(
        gateways.map(({ url }) =>
          fetch(`${url}/healthz`).then(
            ({ status }) => status,
            () => 0,
          ),
        ),
      );
      return states.every((status) => status === 200);
    };
    const outages: Record<string, number> = {};
    /** Does something to the primary under load, and waits until all serve again. */
    const drill = async (what: string, act: (primary: Member) => Promise<void>) => {
      const before = load.count();
      await eventually(() => load.count() > before + 50);
      const primary = await leader();
      if (primary === undefined) throw new Error("there is no primary");
      const beganMs = performance.now();
      await act(primary);
      await eventually(async () => {
        const now = await leader();
        return now !== undefined && now !== primary && (await healthy());
      });
      outages[what] = Math.round((performance.now() - beganMs) / 100) / 10;
      const again = load.count();
      await eventually(() => load.count() > again + 50);
      return primary;
    };

    const doctor = async () => (await runCommand(["doctor"], { env: settings })).out;
    expect(gateways.every((gateway) => gateway.output().includes("ledger_standby_asynchronous"))).toBe(true);
    expect(await doctor()).toContain("commits wait for none of 2 standbys");

    const first = await drill("asynchronous, two seconds lost", async (primary) => {
      primary.proxy.mode = "swallow";
      await Bun.sleep(2_000);
      kill(primary);
    });
    const lostThen = await lost();
    expect(lostThen).toBeGreaterThan(0);
    expect(gateways.some((gateway) => gateway.output().includes("ledger_commits_lost"))).toBe(true);
    expect(await doctor()).toContain("in the last 7 days it lost");
    const views = await Promise.all(gateways.map(({ url }) => fetch(`${url}/dashboard/api/summary`)));
    expect((await Promise.all(views.map((view) => view.text()))).join()).toContain('"commits_lost"');

    first.proxy.mode = "pass";
    start(first);
    await eventually(async () => (await streaming()) === 2);
    await drill("switch-over by hand", async (primary) => {
      const body = JSON.stringify({ leader: primary.name, candidate: first.name });
      await rest(primary, "/switchover", { method: "POST", body, signal: AbortSignal.timeout(30_000) });
    });
    expect(await lost()).toBe(lostThen);

    await eventually(async () => (await streaming()) === 2);
    await rest(first, "/config", { method: "PATCH", body: JSON.stringify({ synchronous_mode: true }) });
    await eventually(
      async () => (await query("SHOW synchronous_standby_names"))[0]?.["synchronous_standby_names"] !== "",
    );
    await drill("synchronous", async (primary) => kill(primary));
    expect(await lost()).toBe(lostThen);
    expect(await doctor()).not.toContain("commits wait for none");

    const { answered } = await load.stop();
    await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()));
    console.log({ answered, lostBatches: lostThen, outages, billedUsd: upstream.billedNanoUsd() / 1e9, capUsd });
    expect(answered).toBeGreaterThan(150);
    expect(upstream.billedNanoUsd()).toBeGreaterThan(0);
    expect(upstream.billedNanoUsd()).toBeLessThanOrEqual(capUsd * 1e9);
    expect(await audited(url)).toMatchObject({ findings: [] });
    await upstream.stop();
  }, 400_000);
});

function childrenOf(pid: number): number[] {
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => {
      try {
        return Number(fs.readFileSync(`/proc/${each}/stat`, "utf8").split(") ")[1]?.split(" ")[1]) === pid;
      } catch {
        return false; // It has ended.
      }
    });
}
