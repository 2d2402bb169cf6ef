import { isLoopback } from "#config/host-names.ts";
import type { Settings } from "#config/settings.ts";
import type { Gateway } from "#gateway/start.ts";

/** `url`: the address that it listens on, `http://0.0.0.0:8080`. */
interface Running extends Pick<Gateway, "version" | "url"> {
  readonly settings: Pick<Settings, "upstream" | "dashboardToken" | "authKeysFile">;
}

/** Where the gateway listens and how to try it, in lines for a terminal. */
export function startMessage({ version, url, settings }: Running): string {
  const base = reachedAt(url);
  const forAll = isLoopback(new URL(url).hostname) ? "" : " (from this machine only, until DASHBOARD_TOKEN is set)";
  const access = settings.dashboardToken === undefined ? forAll : " (sign in with DASHBOARD_TOKEN)";
  return [
    "",
    `  Smart Gateway ${version} listens on ${url}`,
    ...(settings.upstream.kind === "demo"
      ? [
          "",
          "  ┌─ DEMO MODE ─────────────────────────────────────────────────────────────────┐",
          "  │ No upstream is configured: answers come from a simulator on this machine.   │",
          "  │ Set UPSTREAM_API_KEY to talk to a real aggregator.                          │",
          "  └─────────────────────────────────────────────────────────────────────────────┘",
        ]
      : []),
    "",
    `  Dashboard: ${base}/dashboard${access}`,
    "",
    settings.authKeysFile === undefined ? "  Try it:" : "  Try it, with a token of AUTH_KEYS_FILE:",
    "",
    `  ${sampleRequest({ url, settings })}`,
    "",
  ].join("\n");
}

/** The address under which this machine reaches a gateway that listens on all of its interfaces. */
function reachedAt(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

/** A request to paste into a shell. In double quotes the shell puts the variable's value in its place. */
export function sampleRequest({ url, settings }: Pick<Running, "url" | "settings">): string {
  const accepted = settings.authKeysFile === undefined ? "any-token-of-8-or-more" : "$TOKEN";
  return `curl -i ${reachedAt(url)}/v1/chat/completions -H "Authorization: Bearer ${accepted}" -H 'Content-Type: application/json' -d '{"model":"smart-router","messages":[{"role":"user","content":"Say hello"}]}'`;
}
