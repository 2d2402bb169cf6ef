import type { ThreadCall, ThreadReply } from "./thread-calls.ts";

/** The worker thread that this module is loaded in. */
declare const self: Worker;

/** In a worker thread: answers each call of `ThreadCalls` with what `run` returns, or with the message of what it throws. */
export function answerCalls<Request>(run: (request: Request) => unknown): void {
  self.onmessage = ({ data }: MessageEvent<string>) => {
    // Only `ThreadCalls` of the same type writes here.
    const { id, request } = JSON.parse(data) as ThreadCall<Request>;
    let reply: ThreadReply;
    try {
      reply = { id, ok: true, value: run(request) };
    } catch (error) {
      reply = { id, ok: false, message: error instanceof Error ? error.message : String(error) };
    }
    self.postMessage(JSON.stringify(reply));
  };
}
