/** Names and addresses of machines, in the one spelling that URLs use: lower case, addresses shortened, IPv6 in brackets. */

/**
 * A host as URLs spell it: `LOCALHOST.` → `localhost`, `::1` → `[::1]`, `127.1` → `127.0.0.1`. Undefined when the text
 * is no host (white space, a port, a path).
 */
export function canonicalHost(text: string): string | undefined {
  const bracketed = text.includes(":") && !text.startsWith("[") ? `[${text}]` : text;
  if (!/^(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\[\]*]+)$/.test(bracketed)) return undefined;
  const hostname = URL.parse(`http://${bracketed}`)?.hostname;
  return hostname === undefined || !/[^.]/.test(hostname) ? undefined : hostname.replace(/(?<=.)\.$/, "");
}

/** A host and a port as URLs write them: an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A listen address as sockets take it: an IPv6 address without the brackets that it has in URLs. */
export function listenAddress(host: string): string {
  return host.replace(/^\[([^\]:]*:[^\]]*)\]$/, "$1");
}

/** IPv4 addresses inside IPv6 (`::ffff:127.0.0.1`), as URLs shorten them. */
const mappedLoopback = /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/;

/** Whether only programs on the same machine reach this address. A name is taken for one of another machine, except `localhost`. */
export function isLoopback(host: string): boolean {
  const name = canonicalHost(host);
  if (name === undefined) return false;
  return name === "localhost" || name === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(name) || mappedLoopback.test(name);
}
