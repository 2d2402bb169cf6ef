import { isIP } from "node:net";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that an environment names for a URL, as curl reads it: `https_proxy` or `http_proxy`, else `all_proxy`, in
 * either case, unless `no_proxy` excepts the host; never for loopback. "" where there is none.
 */
export function proxyFor(url: URL, env: Env): string {
  const read = (name: string) => env[name] || env[name.toUpperCase()] || "";
  const host = canonical(url.hostname);
  if (host === undefined || isLoopback(host)) return "";
  const proxy = read(`${url.protocol.slice(0, -1)}_proxy`) || read("all_proxy");
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  const excepted = read("no_proxy")
    .split(/[\s,]+/)
    .some((entry) => matches(entry, host, port));
  return excepted ? "" : proxy;
}

/** Whether an entry of `no_proxy` is about a host: `*`, a name and all below it, an address, a network; with a port or not. */
function matches(entry: string, host: string, port: number): boolean {
  if (entry === "" || entry === "*") return entry === "*";
  const [, bracketed, plain = "", ofPort] = /^(?:\[([^\]]*)\]|([^:]*(?::[^:]*:.*)?))(?::(\d+))?$/.exec(entry) ?? [];
  if (ofPort !== undefined && Number(ofPort) !== port) return false;
  const [name = "", prefix, ...more] = (bracketed ?? plain).split("/");
  if (more.length > 0) return false;
  if (isIP(name) !== 0) return isIP(host) === isIP(name) && inNetwork(host, name, prefix);
  // Both `example.com` and `.example.com` except the host and everything below it, as in curl.
  const suffix = canonical(name.replace(/^\*?\./, ""));
  return prefix === undefined && suffix !== undefined && (host === suffix || host.endsWith(`.${suffix}`));
}

function inNetwork(host: string, network: string, prefix: string | undefined): boolean {
  const [ours, theirs] = [addressBits(host), addressBits(network)];
  const bits = prefix === undefined ? ours.length : Number(prefix);
  return /^\d{1,3}$/.test(prefix ?? "0") && bits <= ours.length && ours.startsWith(theirs.slice(0, bits));
}

/** An address as zeros and ones. */
function addressBits(address: string): string {
  if (isIP(address) === 4)
    return address
      .split(".")
      .map((part) => Number(part).toString(2).padStart(8, "0"))
      .join("");
  // As URLs write it: shortened, and without an IPv4 part.
  const written = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? "";
  const [head = [], tail = []] = written.split("::").map((half) => (half === "" ? [] : half.split(":")));
  const groups = [...head, ...Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0"), ...tail];
  return groups.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, "0")).join("");
}

/** A host as URLs spell it: in lower case, without brackets and a last dot. Undefined where the text is none. */
function canonical(name: string): string | undefined {
  const bare = URL.parse(`http://${name.includes(":") && !name.startsWith("[") ? `[${name}]` : name}`)?.hostname;
  return bare?.replace(/^\[|\]$|\.$/g, "") || undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(?:\.\d+){3}$/.test(host);
}
