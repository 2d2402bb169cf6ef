/** Distinct values that a label from the operator's files may take before the rest count as `other`. */
const maxLabelValues = 256;

/** Keeps the first few values and replaces all others by `other`, so that the number of samples is bounded. */
export function boundedLabel(): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= maxLabelValues || !/^[\w.:/-]{1,64}$/.test(value)) return "other";
    known.add(value);
    return value;
  };
}

export function inSeconds(ms: number): number {
  return ms > 0 ? ms / 1_000 : 0;
}

export function inUsd(nanoUsd: number): number {
  return nanoUsd / 1_000_000_000;
}
