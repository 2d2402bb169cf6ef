import { connect, type Socket } from "node:net";

/** What happens to a caller's connection, seen from a raw socket. */
export class RawCaller {
  readonly socket: Socket;
  text = "";
  closed = false;

  constructor({ url }: { readonly url: string }) {
    this.socket = connect(Number(new URL(url).port), "127.0.0.1");
    this.socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => {
      this.closed = true;
    });
  }

  send(bytes: string): this {
    this.socket.write(bytes);
    return this;
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
}
