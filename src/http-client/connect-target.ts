import { proxyFor } from "./proxy-environment.ts";

/** Where to connect for a URL, and what each request must say: directly, through a forward proxy, or a tunnel. */
export interface ConnectTarget {
  readonly hostname: string;
  readonly port: number;
  /** Whether these are the proxy's. */
  readonly viaProxy: boolean;
  /** The host name for TLS, which the certificate must match; absent: no TLS. */
  readonly tlsFor?: string;
  /** The CONNECT request, sent first to a proxy, which answers 2xx once the tunnel is open. */
  readonly tunnel?: string;
  /** The request target: a path, or the absolute URL for a forward proxy. */
  readonly target: string;
  readonly host: string;
  /** Header lines for a forward proxy. */
  readonly proxyHeaders: string;
}

/**
 * How to connect to `url`. Proxies are those of the environment (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`,
 * in either case), never for loopback. Throws a `RangeError` for an unusable URL or proxy; the message contains no
 * credentials.
 */
export function connectTargetOf(url: URL): ConnectTarget {
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new RangeError("the upstream's URL must begin with http:// or https://");
  }
  const secure = url.protocol === "https:";
  const hostname = bareHost(url);
  const path = `${url.pathname}${url.search}`;
  const direct = {
    hostname,
    port: portOf(url),
    viaProxy: false,
    ...(secure ? { tlsFor: hostname } : {}),
    target: path,
    host: url.host,
    proxyHeaders: "",
  };
  const proxyUrl = proxyFor(url, process.env);
  if (proxyUrl === "") return direct;

  const proxy = URL.canParse(proxyUrl) ? new URL(proxyUrl) : undefined;
  if (proxy?.protocol !== "http:") {
    const variable = secure ? "HTTPS_PROXY" : "HTTP_PROXY";
    throw new RangeError(`the upstream's proxy (${variable} or ALL_PROXY) must be an http:// URL`);
  }
  const proxied = { ...direct, hostname: bareHost(proxy), port: portOf(proxy), viaProxy: true };
  const credentials = credentialsOf(proxy);
  if (!secure) return { ...proxied, target: `${url.origin}${path}`, proxyHeaders: credentials };
  const authority = `${url.hostname}:${portOf(url)}`;
  return { ...proxied, tunnel: `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n` };
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

function portOf(url: URL): number {
  return Number(url.port) || (url.protocol === "https:" ? 443 : 80);
}

function credentialsOf(proxy: URL): string {
  if (proxy.username === "" && proxy.password === "") return "";
  const pair = `${decoded(proxy.username)}:${decoded(proxy.password)}`;
  return `Proxy-Authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}

/** Percent-encoded or plain: a password with a `%` that encodes nothing is taken as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
