/**
 * Sends one call to the upstream at the URL given and prints what came of it as JSON. A process of its own, because the
 * runtime reads `NODE_EXTRA_CA_CERTS` when it starts.
 */
import { systemClock } from "#domain/system-clock.ts";
import { timerWheel } from "#domain/timers.ts";
import { upstreamClient } from "#upstream/client.ts";
import { callOf } from "./upstream-raw-server.ts";

const [, , baseUrl = "", calls = "1"] = process.argv;
const timers = timerWheel({ clock: systemClock });
const client = upstreamClient({ baseUrl, apiKey: "upstream-key", clock: systemClock, timers });
const replies = [];
for (let i = 0; i < Number(calls); i++) {
  const reply = await client.send(callOf(false), new AbortController().signal);
  replies.push(reply.kind === "failure" ? reply.failure : { kind: reply.kind });
}
process.stdout.write(JSON.stringify(replies));
