import { afterAll, expect, test } from "bun:test";
import { assetsFolder } from "../../scripts/build-dashboard.ts";
import { accessibilityProblems, closeBrowser, openPage } from "./page.ts";

afterAll(closeBrowser);

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'";

/** Serves only the page's files, with the strictest policy, and no API. */
function serveFiles() {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname.startsWith("/dashboard/api/")) {
        return Response.json({ detail: "The store cannot be reached." }, { status: 503 });
      }
      const name = /^\/dashboard\/assets\/([\w.-]+)$/.exec(pathname)?.[1] ?? "index.html";
      return new Response(Bun.file(`${assetsFolder}/${name}`), { headers: { "content-security-policy": policy } });
    },
  });
}

test("without an API the page says what failed and offers a retry, and violates no content security policy", async () => {
  const server = serveFiles();
  try {
    await using opened = await openPage(`http://127.0.0.1:${server.port}/dashboard`);
    const { page, problems } = opened;
    await page.getByRole("alert").getByText("The store cannot be reached.").waitFor();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("no answer, trying again").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(problems.filter((problem) => !problem.includes("503"))).toEqual([]);
  } finally {
    await server.stop(true);
  }
});
