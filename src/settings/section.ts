/** Whether a value of a configuration file is a section: a map of keys, neither a list nor a plain value. */
export function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
