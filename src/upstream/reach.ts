import { connect } from "node:net";
import type { Timers } from "#domain/time.ts";

/**
 * Whether a connection can be had within so many milliseconds. `silence` means that not even a refusal came back: a dead
 * route or a firewall. A refusal is an answer; a server that drains refuses new connections and still serves the old.
 */
export type ReachProbe = (withinMs: number) => Promise<"answers" | "silence">;

/** Opens a connection to the host of `url` and closes it. All that ask meanwhile share one probe. */
export function tcpReach(url: string, timers: Timers): ReachProbe {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  let probe: Promise<"answers" | "silence"> | undefined;

  return (withinMs) => {
    probe ??= new Promise<"answers" | "silence">((resolve) => {
      const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
      let finished = false;
      const finish = (what: "answers" | "silence") => {
        if (finished) return;
        finished = true;
        cancel();
        socket.destroy();
        probe = undefined;
        resolve(what);
      };
      const cancel = timers.after(withinMs, () => finish("silence"));
      socket.on("connect", () => finish("answers"));
      socket.on("error", () => finish("answers"));
    });
    return probe;
  };
}
