/**
 * A network between a gateway and its database: forwards bytes after half of a round trip in each direction.
 * `bun bench/support/delaying-forwarder.ts PORT ROUND_TRIP_MS` prints its URL.
 */
import { connect, createServer, type Socket } from "node:net";

const [targetPort = "0", roundTripMs = "0"] = process.argv.slice(2);
const delayMs = Number(roundTripMs) / 2;

function forward(from: Socket, to: Socket): void {
  // Equal delays keep the order.
  from.on("data", (bytes) => setTimeout(() => to.write(bytes), delayMs));
  from.on("close", () => setTimeout(() => to.destroy(), delayMs));
  from.on("error", () => from.destroy());
}

const server = createServer((caller) => {
  const target = connect(Number(targetPort), "127.0.0.1");
  for (const socket of [caller, target]) socket.setNoDelay(true);
  forward(caller, target);
  forward(target, caller);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") console.log(`http://127.0.0.1:${address.port}`);
});
