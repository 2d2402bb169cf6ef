// `npm run cluster`: a PostgreSQL, three gateways and a load balancer as processes of this machine, on loopback. Ctrl-C ends them.
// Demo mode until UPSTREAM_API_KEY is set. The load balancer is HAProxy where it is installed (Debian: haproxy), with the shipped
// configuration; else callers choose a gateway themselves.
import { join } from "node:path";
import { startPostgres } from "../test/harness/postgres.ts";
import { freePort } from "../test/harness/process.ts";

const root = join(import.meta.dir, "..");
const postgres = await startPostgres();
const url = await postgres.createDatabase();
const ports = await Promise.all([8080, 8081, 8082, 8083].map(availableFrom));
const [balancerPort, ...gatewayPorts] = ports;

const gateways = gatewayPorts.map((port, index) =>
  Bun.spawn([process.execPath, join(root, "src/main.ts"), "serve"], {
    cwd: root,
    env: { ...process.env, PORT: String(port), DATABASE_URL: url, NODE_ID: `gateway-${index + 1}`, LOG_FORMAT: "json" },
    stdio: ["ignore", "ignore", "ignore"],
  }),
);
await Promise.all(gatewayPorts.map(ready));

const haproxy = Bun.which("haproxy", { PATH: `${process.env["PATH"]}:/usr/sbin` });
const balancer =
  haproxy === null
    ? undefined
    : Bun.spawn([haproxy, "-db", "-f", join(root, "deploy/haproxy.cfg")], {
        env: {
          ...process.env,
          BIND: `127.0.0.1:${balancerPort}`,
          ...Object.fromEntries(gatewayPorts.map((port, index) => [`GATEWAY_${index + 1}`, `127.0.0.1:${port}`])),
        },
        stdio: ["ignore", "ignore", "inherit"],
      });
const entry = balancer === undefined ? gatewayPorts[0] : balancerPort;
console.log(`\n  PostgreSQL  ${url}`);
for (const port of gatewayPorts) console.log(`  Gateway     http://127.0.0.1:${port}/v1`);
console.log(
  balancer === undefined
    ? "  No load balancer: haproxy is not installed."
    : `  Callers     http://127.0.0.1:${entry}/v1`,
);
console.log(`  Dashboard   http://127.0.0.1:${entry}/dashboard\n`);

let ending = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void end());

async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  balancer?.kill();
  for (const gateway of gateways) gateway.kill("SIGTERM");
  await Promise.all(gateways.map(({ exited }) => exited));
  await postgres.remove();
  process.exit(0);
}

async function ready(port: number): Promise<void> {
  while (
    !(await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await Bun.sleep(50);
}

/** This port, or another where it is taken. */
async function availableFrom(port: number): Promise<number> {
  try {
    await Bun.serve({ port, hostname: "127.0.0.1", fetch: () => new Response() }).stop(true);
    return port;
  } catch {
    return freePort();
  }
}
