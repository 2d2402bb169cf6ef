/** Milliseconds in which so many wrong tokens may be tried: by one address, and by all of them together. */
const windowMs = 60_000;
const maxOfAddress = 10;
const maxTogether = 100;

/** Limits how often a wrong token may be tried, in this process. Times are monotonic milliseconds. */
export class LoginLimit {
  #windowEndMs = 0;
  #failed = 0;
  /** No more than `maxTogether`. */
  readonly #failedOf = new Map<string, number>();

  /** Seconds until this address may try again; 0: now. */
  waitS(address: string, nowMs: number): number {
    if (nowMs >= this.#windowEndMs) return 0;
    const isLimited = this.#failed >= maxTogether || (this.#failedOf.get(address) ?? 0) >= maxOfAddress;
    return isLimited ? Math.ceil((this.#windowEndMs - nowMs) / 1_000) : 0;
  }

  failed(address: string, nowMs: number): void {
    if (nowMs >= this.#windowEndMs) {
      this.#windowEndMs = nowMs + windowMs;
      this.#failed = 0;
      this.#failedOf.clear();
    }
    this.#failed += 1;
    this.#failedOf.set(address, (this.#failedOf.get(address) ?? 0) + 1);
  }
}

/** The login page. It works without scripts, so that the page's code need not be loaded by who may not use it. */
export function loginPage(problem: string | undefined, next: string, icon: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sign in · Smart Gateway</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/dashboard/login.css">
</head>
<body>
<main>
<h1>Smart Gateway</h1>
<form method="post" action="/dashboard/login">
${problem === undefined ? "" : `<p role="alert">${Bun.escapeHTML(problem)}</p>`}
<label for="token">Dashboard token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<label for="name">Your name, for the audit log (optional)</label>
<input id="name" name="name" type="text" autocomplete="username" maxlength="40">
<input name="next" type="hidden" value="${Bun.escapeHTML(next)}">
<button type="submit">Sign in</button>
</form>
<p>The token is <code>DASHBOARD_TOKEN</code> in the gateway's settings. A login lasts 12 hours.</p>
</main>
</body>
</html>
`;
}

export const loginStyle = `:root { color-scheme: light dark; }
body { font: 14px/1.45 system-ui, sans-serif; margin: 0; color: light-dark(#1d1e20, #e6e6e3); background: light-dark(#fcfcfb, #141517); }
main { max-width: 320px; margin: 15vh auto 0; padding: 0 16px; }
h1 { font-size: 20px; font-weight: 600; }
form { display: grid; gap: 8px; }
label { margin-top: 8px; }
input, button { font: inherit; padding: 8px; border: 1px solid light-dark(#8c8c86, #6d727b); border-radius: 4px; color: inherit; background: transparent; }
button { margin-top: 16px; color: light-dark(#ffffff, #0d1b1b); background: light-dark(#0b6a68, #5cc9c1); border-color: transparent; cursor: pointer; }
:focus-visible { outline: 2px solid light-dark(#0b6a68, #5cc9c1); outline-offset: 2px; }
[role="alert"] { margin: 0; padding: 8px; border-left: 3px solid light-dark(#b3261e, #ff8f85); }
code { font-family: ui-monospace, monospace; }
`;

/** Where to go after the login: a path of the dashboard, whatever the caller wrote. */
export function nextPath(text: string | null): string {
  return text !== null && /^\/dashboard(?:\/[\w\-./~%]*)?(?:\?[\w\-.~%&=/+,:]*)?$/.test(text) && !text.includes("//")
    ? text
    : "/dashboard";
}

/** The name for the audit log: harmless characters, and not many. */
export function operatorName(text: string): string {
  const name = text.replace(/[^\p{L}\p{N} ._@-]/gu, "").trim();
  return name.slice(0, 40) || "dashboard";
}
