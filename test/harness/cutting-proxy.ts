import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy in front of a server that simulates network faults. */
export interface CuttingProxy {
  readonly port: number;
  /**
   * `pass`: all goes through. `cut_commits`: a message that ends in COMMIT goes through, its answer does not: the connection
   * is cut when it comes. `swallow`: nothing goes through either way, connections stay open. `refuse`: connections are cut.
   */
  mode: "pass" | "cut_commits" | "swallow" | "refuse";
  /** The share of commits whose answer is cut, with `cut_commits`. */
  share: number;
  readonly cut: number;
  /** Calls `show` with the callers' text until the returned function is called. */
  watch(show: (text: string) => void): () => void;
  close(): Promise<void>;
}

export async function cuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  const watchers = new Set<(text: string) => void>();
  let mode: CuttingProxy["mode"] = "pass";
  const server = createServer((caller) => {
    if (mode === "refuse") {
      caller.destroy();
      return;
    }
    const target = connect(targetPort, "127.0.0.1");
    open.add(caller);
    let cutting = false;
    const end = () => {
      open.delete(caller);
      caller.destroy();
      target.destroy();
    };
    caller.on("data", (bytes: Buffer) => {
      if (mode === "swallow") return;
      for (const show of watchers) show(bytes.toString());
      // The last statement of a message is right before its closing NUL.
      if (mode === "cut_commits" && bytes.subarray(-8).includes("COMMIT") && Math.random() < proxy.share)
        cutting = true;
      target.write(bytes);
    });
    target.on("data", (bytes: Buffer) => {
      if (mode === "swallow") return;
      if (!cutting) {
        caller.write(bytes);
        return;
      }
      proxy.cut += 1;
      end();
    });
    for (const socket of [caller, target]) socket.on("error", end).on("close", end);
  });
  const proxy = {
    port: 0,
    get mode() {
      return mode;
    },
    set mode(next) {
      mode = next;
      if (next === "refuse") for (const socket of open) socket.destroy();
    },
    share: 1,
    cut: 0,
    watch(show: (text: string) => void) {
      watchers.add(show);
      return () => void watchers.delete(show);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address !== "object") throw new Error("the proxy has no port");
  proxy.port = address.port;
  return proxy;
}
