import { afterAll, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import { startDashboard } from "./fixture.ts";
import { closeBrowser, openPage } from "./page.ts";

afterAll(closeBrowser);

const dashboardToken = ["operator", "token", "of", "the", "test"].join("-");

/** An address of this machine that is not loopback; CI machines have one. */
const address = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

test.skipIf(address === undefined)(
  "from another address the page opens after a login, goes where it was asked for, and can be left again",
  async () => {
    await using dashboard = await startDashboard({ env: { HOST: "0.0.0.0", DASHBOARD_TOKEN: dashboardToken } });
    const url = `http://${address}:${new URL(dashboard.url).port}/dashboard`;
    await dashboard.gateway.chat();
    await using opened = await openPage(`${url}/decisions?outcome=answered`);
    const { page } = opened;
    opened.tolerate(/status of 401/);
    await page.getByLabel("Dashboard token").fill("not the token");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Dashboard token").fill(dashboardToken);
    await page.getByLabel(/Your name/).fill("Ada");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("tr.link").first().waitFor();
    expect(new URL(page.url()).search).toBe("?outcome=answered");

    // The audit log has the name of the login.
    await page.goto(`${url}/models`);
    await page.getByRole("button", { name: "Disable vendor_emergency" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disable vendor_emergency" }).click();
    await page.getByText(/Ada/).first().waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Dashboard token").waitFor();

    // A login that has ended leads to the login, and back to the same place.
    await page.goto(`${url}/models`);
    await page.getByLabel("Dashboard token").fill(dashboardToken);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "State over time" }).waitFor();
    await page.context().clearCookies();
    await page.getByLabel("Dashboard token").fill(dashboardToken); // the page finds out at its next request
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "State over time" }).waitFor();
    expect(opened.problems).toEqual([]);
  },
);
