/**
 * Sends calls to the upstream at the URL given, one after the other or all at once, and prints what came of them as JSON.
 * A process of its own, because of what is settled when a process starts: certificate authorities, limits.
 * `bun test/upstream/calls.ts URL [CALLS] [at-once]`
 */
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { upstreamClient } from "#upstream/client.ts";
import { callOf } from "./raw-server.ts";

const [, , baseUrl = "", calls = "1", order] = process.argv;
const timers = timerWheel({ clock: systemClock });
const client = upstreamClient({ baseUrl, apiKey: "upstream-key", clock: systemClock, timers });
const call = async () => {
  const reply = await client.send(callOf(false), new AbortController().signal);
  return reply.kind === "failure" ? reply.failure : { kind: reply.kind };
};
const replies: object[] = [];
if (order === "at-once") replies.push(...(await Promise.all(Array.from({ length: Number(calls) }, call))));
else for (let i = 0; i < Number(calls); i++) replies.push(await call());
process.stdout.write(JSON.stringify(replies));
