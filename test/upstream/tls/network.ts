import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { type GenerateResult, generate, type SelfsignedOptions } from "selfsigned";
import { root } from "../../harness/process.ts";
import { jsonAnswer } from "../raw-server.ts";

export const answer = {
  choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
};

export interface Certificate {
  readonly key: string;
  /** With the certificates that the server sends behind its own. */
  readonly cert: string;
}

/** What a call came to, as `calls.ts` prints it. */
export interface CallResult {
  readonly kind: string;
  readonly message?: string;
  readonly dispatched?: boolean;
}

/** Certificate authorities, servers and proxies on loopback, all stopped and removed by `stop`. */
export class Network {
  readonly #directory = mkdtempSync(join(tmpdir(), "smart-gateway-tls-"));
  readonly #servers: Server[] = [];
  #root: GenerateResult | undefined;
  #intermediate: GenerateResult | undefined;

  /** The file of the authority that signs `certificate`s. */
  get authority(): string {
    return join(this.#directory, "authority.pem");
  }

  async start(): Promise<void> {
    this.#root = await generate([{ name: "commonName", value: "Test Authority" }], { ...ofAuthority });
    this.#intermediate = await generate([{ name: "commonName", value: "Test Intermediate" }], {
      ...ofAuthority,
      ca: signer(this.#root),
    });
    await Bun.write(this.authority, this.#root.cert);
  }

  stop(): void {
    for (const server of this.#servers) server.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** A certificate of the authority for these names and addresses. */
  async certificate(names: readonly string[], more: SelfsignedOptions = {}): Promise<Certificate> {
    const { private: key, cert } = await generate([{ name: "commonName", value: names[0] ?? "" }], {
      keyType: "ec",
      ca: signer(this.#root),
      ...forNames(names),
      ...more,
    });
    return { key, cert };
  }

  async selfSigned(name: string): Promise<Certificate> {
    const { private: key, cert } = await generate([{ name: "commonName", value: name }], {
      keyType: "ec",
      ...forNames([name]),
    });
    return { key, cert };
  }

  /** A certificate of an authority that the authority has signed; `whole`: the server sends that one too. */
  async ofIntermediate(name: string, whole: boolean): Promise<Certificate> {
    const { key, cert } = await this.certificate([name], { ca: signer(this.#intermediate) });
    return { key, cert: whole ? `${cert}\n${this.#intermediate?.cert}` : cert };
  }

  /** Starts to listen on a loopback address; the port. */
  async listening(server: Server, host = "127.0.0.1"): Promise<number> {
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return (server.address() as AddressInfo).port; // Not a pipe.
  }

  /** A server without TLS, or below it. */
  raw(onConnection: (socket: Socket) => void): Promise<number> {
    return this.listening(
      createServer((socket) => {
        socket.on("error", () => {});
        onConnection(socket);
      }),
    );
  }

  /** An upstream with TLS. `reply` is called with each part of a request. */
  async upstream(
    certificate: Certificate,
    { host, reply = (socket) => void socket.write(jsonAnswer(answer)), ...more }: UpstreamOptions = {},
  ) {
    const seen = { connections: 0, bytes: 0, requests: [] as string[] };
    const server = createTlsServer({ ...certificate, ...more }, (socket) => {
      seen.connections++;
      socket.on("error", () => {});
      socket.on("data", (bytes: Buffer) => {
        seen.bytes += bytes.length;
        seen.requests.push(bytes.toString());
        reply(socket);
      });
    });
    server.on("tlsClientError", () => {});
    return { port: await this.listening(server, host), seen };
  }

  /** A proxy that connects every name to this machine, and records the requests. `answerTo` answers CONNECT. */
  async proxy(answerTo = "HTTP/1.1 200 Connection established\r\n\r\n") {
    const heads: string[] = [];
    const port = await this.raw((socket) => {
      socket.once("data", (bytes: Buffer) => {
        const head = bytes.toString("latin1");
        heads.push(head);
        const to = /^(?:CONNECT [^ ]+:|POST http:\/\/[^/ ]+:)(\d+)/.exec(head)?.[1];
        if (!answerTo.startsWith("HTTP/1.1 200")) {
          socket.end(answerTo);
          return;
        }
        const upstream = connect(Number(to), "127.0.0.1", () => {
          if (head.startsWith("CONNECT")) socket.write(answerTo);
          else upstream.write(bytes);
          socket.pipe(upstream).pipe(socket);
        });
        upstream.on("error", () => socket.destroy());
      });
    });
    return { port, heads };
  }
}

interface UpstreamOptions extends TlsOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  readonly reply?: (socket: Socket) => void;
}

const ofAuthority: SelfsignedOptions = {
  keyType: "ec",
  extensions: [
    { name: "basicConstraints", cA: true, critical: true },
    { name: "keyUsage", keyCertSign: true, critical: true },
  ],
};

function signer(authority: GenerateResult | undefined): { key: string; cert: string } {
  if (authority === undefined) throw new Error("the network is not started");
  return { key: authority.private, cert: authority.cert };
}

function forNames(names: readonly string[]): Pick<SelfsignedOptions, "extensions"> {
  const altNames = names.map((name) =>
    /^[\d.]+$|:/.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name },
  );
  return { extensions: [{ name: "subjectAltName", altNames }] };
}

/** Calls an upstream from a process of its own, which reads this environment. */
export async function call(
  url: string,
  env: { [name: string]: string } = {},
  ...more: string[]
): Promise<CallResult[]> {
  const child = Bun.spawn([process.execPath, join(root, "test", "upstream", "calls.ts"), url, ...more], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  return JSON.parse(await new Response(child.stdout).text());
}
