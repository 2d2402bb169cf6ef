/** A value of the policy as its file could say it. */
export function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "–");
}
