/**
 * Sends calls to the upstream at the URL given, one after the other or all at once, and prints what came of them as JSON; of a
 * stream the kinds of its events, and the failure that broke it. A process of its own, because of what is settled when a process
 * starts: certificate authorities, limits.
 * `bun test/upstream/calls.ts URL [CALLS] [at-once] [stream] [connect=MS]`
 */
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { UpstreamClient } from "#upstream/client.ts";
import { callOf, eventsOf, limits } from "./raw-server.ts";

const [, , baseUrl = "", calls = "1", ...how] = process.argv;
const connect = Number(how.find((word) => word.startsWith("connect="))?.slice("connect=".length) ?? limits.connect);
const timers = timerWheel({ clock: systemClock });
const client = new UpstreamClient({
  baseUrl,
  apiKey: "upstream-key",
  clock: systemClock,
  timers,
});
const call = async (): Promise<object[]> => {
  const what = callOf(how.includes("stream"), { timeoutsMs: { ...limits, connect } });
  const reply = await client.send(what, new AbortController().signal);
  if (reply.kind === "failure") return [reply.failure];
  if (reply.kind === "answer") return [{ kind: reply.kind }];
  return (await eventsOf(reply)).map((event) => (event.kind === "broken" ? event.failure : { kind: event.kind }));
};
const replies: object[] = [];
if (how.includes("at-once")) replies.push(...(await Promise.all(Array.from({ length: Number(calls) }, call))).flat());
else for (let i = 0; i < Number(calls); i++) replies.push(...(await call()));
process.stdout.write(JSON.stringify(replies));
