/** The requests that this gateway is for, as the benches send them. */

/** One kind of request and the load with which it is measured. */
export interface Case {
  readonly name: string;
  readonly about: string;
  readonly workload: string;
  readonly connections: number;
  readonly requestsPerRound: number;
  /** Requests before the rounds, as a share of `--warmup`; otherwise compilation would count for the first rounds. */
  readonly warmup: number;
  /** Requests of another workload before these, likewise: paced streams and turns of 400 KB are too slow to get all compiled. */
  readonly warmupBefore?: { readonly workload: string; readonly share: number };
  /** Each connection sends one request before a round, with the history to which the round's requests add. */
  readonly primed?: boolean;
  /** Arguments of the upstream: events in a stream, events in a write, milliseconds between writes. */
  readonly upstream?: readonly string[];
  /** The unit of the figures, instead of a request. */
  readonly eventsPerRequest?: number;
}

const allAtOnce = ["100", "100"];
const paced = ["200", "1", "10"];
const cases: readonly Case[] = [
  { name: "small", about: "small chat", workload: "answers", connections: 32, requestsPerRound: 2_000, warmup: 1 },
  {
    name: "conversations",
    about: "small chat, each request the first of a conversation",
    workload: "conversations",
    connections: 32,
    requestsPerRound: 2_000,
    warmup: 1,
  },
  {
    name: "new-text",
    about: "100 KB of new text",
    workload: "new-text",
    connections: 8,
    requestsPerRound: 150,
    warmup: 0.15,
  },
  {
    name: "em-dash",
    about: "100 KB of new text with one em dash",
    workload: "em-dash",
    connections: 8,
    requestsPerRound: 150,
    warmup: 0.1,
  },
  {
    name: "agent",
    about: "agent conversation of 400 KB, the newest 4 KB of it new",
    workload: "agent",
    connections: 4,
    requestsPerRound: 120,
    warmup: 0.03,
    warmupBefore: { workload: "short-agent", share: 1 },
    primed: true,
  },
  {
    name: "agent-secret",
    about: "the same with one secret in its history",
    workload: "agent-secret",
    connections: 4,
    requestsPerRound: 120,
    warmup: 0.03,
    warmupBefore: { workload: "short-agent", share: 1 },
    primed: true,
  },
  {
    name: "burst",
    about: "stream of 100 chunks at once",
    workload: "streams",
    connections: 32,
    requestsPerRound: 500,
    warmup: 1,
    upstream: allAtOnce,
  },
  {
    name: "paced",
    about: "event of a paced stream (200 events, 10 ms apart, 64 streams)",
    workload: "streams",
    connections: 64,
    requestsPerRound: 64,
    warmup: 0.02,
    warmupBefore: { workload: "streams-at-once", share: 0.6 },
    upstream: paced,
    eventsPerRequest: 200,
  },
];

/** The cases with these names; all without names. @throws if no case has a name. */
export function casesNamed(names: readonly string[] | undefined): readonly Case[] {
  const unknown = names?.find((name) => cases.every((known) => known.name !== name));
  if (unknown !== undefined) throw new Error(`--case ${unknown}: one of ${cases.map(({ name }) => name).join(", ")}`);
  return cases.filter(({ name }) => names?.includes(name) ?? true);
}

/** The cases grouped by the arguments of their upstream: servers are started once per group. */
export function byUpstream(chosen: readonly Case[]): readonly { args: readonly string[]; kinds: readonly Case[] }[] {
  const groups = Map.groupBy(chosen, ({ upstream }) => (upstream ?? []).join(" "));
  return [...groups.values()].map((kinds) => ({ args: kinds[0]?.upstream ?? [], kinds }));
}
