/**
 * What people type before a command of ours, such as `npx smart-gateway` in a clone: the launchers say how they were started
 * (scripts/toolchain.mjs).
 */
export function ownCommand(env: Readonly<Record<string, string | undefined>>): string {
  return env["SMART_GATEWAY_COMMAND"] || "smart-gateway";
}
