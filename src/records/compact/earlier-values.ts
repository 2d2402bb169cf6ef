type Values = readonly unknown[];

/** As this release writes it. */
export type FlatContent = readonly [
  conversation: string | null,
  request: Values,
  attempts: readonly Values[],
  routed: Values | null,
];

type NestedContent = readonly [
  FlatContent[0],
  request: Values,
  attempts: readonly Values[],
  facts: Values,
  routed: Values | null,
];

const decisionAt = 5;
const usageAt = 17;
const noUsage: Values = [undefined, undefined, undefined, undefined, undefined];
const runAtStart: Values = [0, 0, 0, 0, 0, 0, "NONE", null];

/** The content of a record in the form of the releases that wrote more and shorter lists of the same values. */
export function flatContent([conversation, request, attempts, facts, routed]: NestedContent): FlatContent {
  return [
    conversation,
    [...withInner(request, decisionAt, []), ...facts],
    attempts.map((attempt) => withInner(attempt, usageAt, noUsage)),
    routed === null ? null : flatRouted(routed),
  ];
}

export function isNested(content: Values): content is NestedContent {
  return content.length === 5;
}

function flatRouted(routed: Values): Values {
  const [decision, task, runtime, housekeeping, namesTask, ledgerSpend, features, health, spend, size, ...more] =
    routed;
  const [ownCaps, scale, runEvidence, affinity, ...rest] = more;
  const { model, continuation } = (affinity ?? {}) as { readonly model?: string; readonly continuation?: boolean };
  return [
    decision,
    ...listIn(task),
    ...listIn(runtime ?? runAtStart),
    housekeeping,
    namesTask,
    ledgerSpend,
    ...listIn(features),
    health,
    ...listIn(spend),
    ...listIn(size),
    ownCaps,
    scale,
    runEvidence,
    model,
    continuation,
    ...rest,
  ];
}

/** The values, with those of the list at `at` in its place. */
function withInner(values: Values, at: number, ifNone: Values): Values {
  return [...values.slice(0, at), ...listIn(values[at] ?? ifNone), ...values.slice(at + 1)];
}

function listIn(value: unknown): Values {
  return value as Values; // as that release wrote it
}
