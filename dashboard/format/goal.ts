/**
 * A goal as people name it. Where an id has a slash in it the gateway escapes both parts and joins them by two slashes
 * (`a%2Fb//c`); the name in full is shown on hover.
 */
export function goalName(goal: string): string {
  if (!goal.includes("//")) return goal;
  const parts = goal.split("//").filter((part) => part !== "");
  return parts.map((part) => part.replaceAll("%2F", "/").replaceAll("%25", "%")).join("/");
}
