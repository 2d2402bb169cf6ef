import { canonicalHost } from "#config/host-names.ts";

/**
 * Claims the port for one gateway, exclusively and before any worker listens. Workers share their port through `reusePort`; without
 * the claim the system would let a second gateway share it, with other settings and another database.
 */
export interface PortClaim {
  /** The workers listen: from now on any other process finds the port taken. */
  listening(): void;
  release(): void;
}

/** How long another gateway may take from its claim to its first listening worker before we give up, in milliseconds. */
const startWaitsMs = 15_000;
const tryEveryMs = 50;

/** Throws an error with code `EADDRINUSE` when somebody listens there, or another gateway has claimed it. */
export async function claimPort(host: string, port: number): Promise<PortClaim> {
  // Names in Linux's abstract socket namespace: taken atomically, for each network namespace as ports are, released when the
  // process ends.
  const name = `\0smart-gateway:${port}`;
  const locks: Lock[] = [];
  const release = () => {
    for (const lock of locks.splice(0)) lock.stop(true);
  };
  try {
    // Between here and its first listening worker only one gateway starts at a time, whatever address it listens on (0.0.0.0 covers
    // all).
    const starting = await locked(`${name}:starting`);
    locks.push(starting);
    // Until the gateway ends: while all its workers are down for a moment, the port stays claimed.
    locks.push(lock(`${name}:${canonicalHost(host)}`));
    // Without `reusePort` this fails on whatever listens there, with or without it.
    Bun.listen({ hostname: host, port, exclusive: true, socket: { data() {} } }).stop(true);
    return { listening: () => starting.stop(true), release };
  } catch (error) {
    release();
    throw error;
  }
}

interface Lock {
  stop(force: boolean): void;
}

function lock(unix: string): Lock {
  // The name space is Linux's own, and so is sharing a port as workers do.
  if (process.platform !== "linux") return { stop() {} };
  return Bun.listen({ unix, socket: { data() {} } });
}

async function locked(unix: string): Promise<Lock> {
  const deadline = performance.now() + startWaitsMs;
  for (;;) {
    try {
      return lock(unix);
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await Bun.sleep(tryEveryMs);
    }
  }
}
