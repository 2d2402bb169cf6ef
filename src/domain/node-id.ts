/** The name of a gateway process where `NODE_ID` gives it none: the host's name and the number of the process. */
export function processNodeId(hostname: string, pid: number): string {
  return `${hostname.replace(/[^A-Za-z0-9._-]/g, "-") || "node"}-${pid}`;
}

/**
 * The number of the process that gave itself such a name on this host, or of its supervisor, which puts a number of its
 * own behind the name of a worker; undefined for other names and hosts.
 */
export function pidInNodeId(nodeId: string, hostname: string): number | undefined {
  const prefix = processNodeId(hostname, 0).slice(0, -1);
  const digits = nodeId.startsWith(prefix) ? /^([1-9]\d{0,8})(?:\.\d{1,4})?$/.exec(nodeId.slice(prefix.length)) : null;
  return digits === null ? undefined : Number(digits[1]);
}
