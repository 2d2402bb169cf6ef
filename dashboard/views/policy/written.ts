/** A value of the policy as it could stand in its file. */
export function written(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "–");
}
