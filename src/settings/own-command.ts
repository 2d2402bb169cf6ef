/**
 * The command prefix that the user types, such as `npx smart-gateway` in a clone; the launchers pass it on (scripts/toolchain.mjs).
 */
export function ownCommand(env: Readonly<Record<string, string | undefined>>): string {
  return env["SMART_GATEWAY_COMMAND"] || "smart-gateway";
}
