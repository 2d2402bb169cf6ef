import { hostname } from "node:os";
import { pidInNodeId } from "#domain/node-id.ts";

/** Whether a node is a process of this machine, by the name that processes give themselves, that has ended. */
export function isEndedProcess(nodeId: string): boolean {
  const pid = pidInNodeId(nodeId, hostname());
  if (pid === undefined || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
