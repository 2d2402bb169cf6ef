/** The goal of requests that name none; it starts anew each UTC day. */
const adhoc = "adhoc";

/**
 * The goal that a request belongs to, as the ledger names it: `session/goal`, or only the goal. Two different pairs
 * never have the same name: where an id has a slash in it, both are escaped and joined by two slashes (`a/b` and `c`
 * are `a%2Fb//c`), and all other names have one slash at most. Requests without a goal share `adhoc`, also within a
 * session, so that a client that makes a new session for every run still meets its cap.
 */
export function goalIdOf({ sessionId, goalId }: { readonly sessionId?: string; readonly goalId?: string }): string {
  if (goalId === undefined) return adhoc;
  if (goalId.includes("/") || sessionId?.includes("/")) return `${escaped(sessionId ?? "")}//${escaped(goalId)}`;
  return sessionId === undefined ? goalId : `${sessionId}/${goalId}`;
}

function escaped(id: string): string {
  return id.replaceAll("%", "%25").replaceAll("/", "%2F");
}
