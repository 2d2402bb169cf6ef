import { canonicalHost, isLoopback } from "#config/host-names.ts";
import { type CallerError, errorOf } from "#domain/errors.ts";

export interface OriginRules {
  /** The listen address (`HOST`). */
  readonly host: string;
  /** Further names that the gateway answers to (`ALLOWED_HOSTS`), as `canonicalHost` spells them. */
  readonly allowedHosts: readonly string[];
}

/**
 * Keeps web pages from spending the money of whoever opened them. A page whose name was made to resolve to 127.0.0.1
 * (DNS rebinding) sends its own name as `Host`; a page of any other origin sends that as `Origin`. Programs that are no
 * browsers send no `Origin`, and are let in. A gateway on another address is reached under names that it does not know,
 * so there the `Host` is checked only if `ALLOWED_HOSTS` lists them; that a page comes from another origin than it is
 * sent to shows without any name.
 */
export function originCheck({
  host,
  allowedHosts,
}: OriginRules): (request: Pick<Request, "headers">) => CallerError | undefined {
  if (!isLoopback(host) && allowedHosts.length === 0) return sameOriginProblem;
  const own = canonicalHost(host);
  const names = new Set(["localhost", "127.0.0.1", "[::1]", ...allowedHosts, ...(own === undefined ? [] : [own])]);
  /** The value of the last accepted request, which is not parsed again. */
  let accepted = "";
  return (request) => {
    const given = request.headers.get("host");
    // Only HTTP/1.0 may leave it out, which no browser speaks.
    if (given !== null && given !== accepted) {
      const name = nameIn(given);
      if (name === undefined || !names.has(name)) return foreignHost;
      accepted = given;
    }
    return sameOriginProblem(request);
  };
}

/** Why a page's request may not be answered: it was served under another name than the request is sent to. */
export function sameOriginProblem({ headers }: Pick<Request, "headers">): CallerError | undefined {
  const origin = headers.get("origin");
  return origin === null || isSameOrigin(origin, headers.get("host")) ? undefined : foreignOrigin;
}

/** The host in a `Host` header, without its port. */
function nameIn(value: string): string | undefined {
  const [, name] = /^(\[[^\]]*\]|[^:]*)(?::\d{0,5})?$/.exec(value) ?? [];
  return name === undefined ? undefined : canonicalHost(name);
}

/** Whether a page of this origin was served under this `Host`: by the gateway, perhaps through a TLS proxy. */
function isSameOrigin(origin: string, host: string | null): boolean {
  if (host === null) return false;
  const url = URL.parse(origin);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return false;
  // Both without the scheme's default port, and in one spelling.
  return url.origin === origin.toLowerCase() && URL.parse(`${url.protocol}//${host}`)?.host === url.host;
}

const foreignHost = errorOf("host_not_allowed");
const foreignOrigin = errorOf("origin_not_allowed");
