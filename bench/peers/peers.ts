import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root, type Servers, type Started } from "../support/servers.ts";
import { type Installed, installLitellm, installNginx, installPortkey } from "./install.ts";

/** A server between caller and upstream, started as its own documentation says. */
export interface Peer {
  readonly name: string;
  /** What it does in this bench, for readers of the table. */
  readonly does: string;
  install(folder: string): Promise<Installed>;
  start(servers: Servers, upstream: Started, installed: Installed): Promise<Started>;
  /** Headers that each request to it needs. */
  headers?(upstream: Started): readonly string[];
}

/** The name of this gateway's column. */
export const ours = "Smart Gateway";

/** The token that the load generator sends. */
const token = "bench-token-0123456789";

async function freePort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  if (port === undefined) throw new Error("no port is free");
  return port;
}

function folderIn(servers: Servers, name: string): string {
  const folder = join(servers.scratch, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** A reverse proxy that forwards each piece as it arrives. Its buffers hold a whole body; otherwise nginx would write it to a file. */
function nginxConfiguration(folder: string, port: number, upstream: URL): string {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `  ${kind}_temp_path ${join(folder, kind)};`,
  );
  return `daemon off;
worker_processes 1;
pid ${join(folder, "nginx.pid")};
events { worker_connections 16384; }
http {
  access_log off;
${paths.join("\n")}
  client_max_body_size 16m;
  client_body_buffer_size 1m;
  keepalive_requests 1000000;
  upstream model { server ${upstream.host}; keepalive 64; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}

/** \`config.yaml\` as the quick start of LiteLLM's proxy has it. */
const litellmConfiguration = (upstream: Started) => `model_list:
  - model_name: smart-router-flash
    litellm_params:
      model: openai/smart-router-flash
      api_base: ${upstream.url}
      api_key: bench-upstream-key
`;

export const peers: readonly Peer[] = [
  {
    name: "bare proxy",
    does: "`Bun.serve` and `fetch`, the body handed on unread",
    install: async () => ({ program: process.execPath, version: `Bun ${Bun.version}` }),
    start: (servers, upstream) => servers.proxy(upstream),
  },
  {
    name: "nginx",
    does: "a reverse proxy, one worker, `proxy_buffering off`, no access log",
    install: installNginx,
    async start(servers, upstream, { program }) {
      const port = await freePort();
      const folder = folderIn(servers, `nginx-${port}`);
      const file = join(folder, "nginx.conf");
      await Bun.write(file, nginxConfiguration(folder, port, new URL(upstream.url)));
      const address = `http://127.0.0.1:${port}`;
      const command = [program, "-c", file, "-e", join(folder, "error.log"), "-p", folder];
      return servers.other(command, { url: `${address}/v1`, probe: `${address}/` });
    },
  },
  {
    name: ours,
    does: "everything on: redaction, routing, budgets and decision records in SQLite on disk, metrics, log",
    install: async () => {
      const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
      const { stdout } = Bun.spawnSync(["git", "rev-parse", "--short", "HEAD"], { cwd: root });
      return { program: process.execPath, version: `${version}, commit ${stdout.toString().trim()}` };
    },
    start: (servers, upstream) => servers.gateway(upstream),
  },
  {
    name: "Portkey",
    does: "`npx @portkey-ai/gateway`, provider and upstream named by headers; no budgets, no store",
    install: installPortkey,
    async start(servers, _upstream, { program }) {
      const port = await freePort();
      const address = `http://127.0.0.1:${port}`;
      const command = ["node", program, `--port=${port}`, "--headless"];
      const env = { TRUSTED_CUSTOM_HOSTS: "127.0.0.1", NODE_ENV: "production" };
      return servers.other(command, { url: `${address}/v1`, probe: `${address}/`, env });
    },
    headers: (upstream) => ["x-portkey-provider: openai", `x-portkey-custom-host: ${upstream.url}`],
  },
  {
    name: "LiteLLM",
    does: "`litellm --config config.yaml`, one worker, a master key; no database, so no budgets",
    install: installLitellm,
    async start(servers, upstream, { program }) {
      const port = await freePort();
      const folder = folderIn(servers, `litellm-${port}`);
      const file = join(folder, "config.yaml");
      await Bun.write(file, litellmConfiguration(upstream));
      const address = `http://127.0.0.1:${port}`;
      const command = [program, "--config", file, "--host", "127.0.0.1", "--port", String(port)];
      // It reads its price list from the package instead of from the internet.
      const env = { LITELLM_MASTER_KEY: token, LITELLM_LOCAL_MODEL_COST_MAP: "True" };
      return servers.other(command, { url: `${address}/v1`, probe: `${address}/health/liveliness`, cwd: folder, env });
    },
  },
];

/** Gateways that are not measured, with the reason. */
export const notMeasured: readonly { readonly name: string; readonly why: string }[] = [
  {
    name: "Bifrost",
    why: "the npm package `@maximhq/bifrost` downloads its program from the maker's host when it first runs; no package registry has it",
  },
  {
    name: "TensorZero",
    why: "the gateway is published as a container image; the PyPI package `tensorzero` is its client",
  },
];
