import { type DecisionRecords, zeroSums } from "./records.ts";

/** Keeps nothing: where the policy has decision records off. */
export const noRecords: DecisionRecords = {
  append() {},
  query: async () => ({ records: [], more: false }),
  get: async () => undefined,
  summary: async ({ fromMs, toMs }) => ({
    ...zeroSums,
    from_ms: fromMs,
    to_ms: toMs,
    outcomes: {},
    refused_by_gateway: 0,
    refused_by_upstream: 0,
    cost_unknown: 0,
    first_token_p50_ms: null,
    first_token_p95_ms: null,
    by: { tier: [], cause: [], model: [], status: [], outcome: [], refused_by: [] },
    oldest_record_ms: null,
  }),
  series: async () => ({ bucket_ms: 3_600_000, at_ms: [], lines: [] }),
  groups: async () => [],
  subscribe: () => () => {},
  async *export() {},
  configuration: async () => undefined,
  status: () => ({ kind: "off", ok: true, queued: 0, written: 0, dropped: 0 }),
};

/** The records that `inForce` names at each call. A feed goes on with those it began with. */
export function switchedRecords(inForce: () => DecisionRecords): DecisionRecords {
  return {
    append: (records) => inForce().append(records),
    query: (filter, page) => inForce().query(filter, page),
    get: (id) => inForce().get(id),
    summary: (range, filter) => inForce().summary(range, filter),
    series: (request) => inForce().series(request),
    groups: (by, range, limit) => inForce().groups(by, range, limit),
    subscribe: (filter, onRecords) => inForce().subscribe(filter, onRecords),
    export: (filter) => inForce().export(filter),
    configuration: (hash) => inForce().configuration(hash),
    status: () => inForce().status(),
  };
}
