import { connectTargetOf } from "#http-client/connect-target.ts";
import type { Problem } from "./problem.ts";

/**
 * What is wrong with the proxy that the process's environment names for the upstream. The HTTP client reads it by itself, and could
 * send nothing.
 */
export function upstreamProxyProblems(baseUrl: string): Problem[] {
  const url = URL.parse(baseUrl);
  if (url === null) return [];
  try {
    connectTargetOf(url);
    return [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [
      {
        file: "environment",
        path: url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY",
        message: error.message,
        suggestion: "write it as http://host:port, or except the upstream with NO_PROXY",
      },
    ];
  }
}
