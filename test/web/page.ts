import { expect } from "bun:test";
import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { launchChromium } from "./chromium.ts";

let browser: Promise<Browser> | undefined;

/** One browser for all tests of this process; it is closed by `closeBrowser`. */
function theBrowser(): Promise<Browser> {
  browser ??= launchChromium();
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = undefined;
}

/** A page in its own browser context, with the problems that occurred in it. */
export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  /** Console errors, uncaught errors, violations of the content security policy, requests to other origins. */
  readonly problems: readonly string[];
  /** Problems that the test causes do not count, earlier and later ones. */
  tolerate(expected: RegExp): void;
}

export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<OpenedPage> {
  const context = await (await theBrowser()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const problems: string[] = [];
  const tolerated: RegExp[] = [];
  const note = (problem: string): void => {
    if (!tolerated.some((expected) => expected.test(problem))) problems.push(problem);
  };
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") note(message.text());
  });
  page.on("pageerror", (error) => note(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin)) note(`request to ${request.url()}`);
  });
  await page.goto(url);
  return {
    page,
    problems,
    tolerate(expected) {
      tolerated.push(expected);
      const others = problems.filter((problem) => !expected.test(problem));
      problems.splice(0, problems.length, ...others);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** Closes the page, and its gateway where one is named. @throws if the page had a problem. */
export async function closeWithoutProblems(opened: OpenedPage, dashboard?: AsyncDisposable): Promise<void> {
  const problems = [...opened.problems];
  await opened[Symbol.asyncDispose]();
  await dashboard?.[Symbol.asyncDispose]();
  expect(problems).toEqual([]);
}

/** What axe finds against WCAG 2.2 A and AA and its best practices, one line each. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(axe.source); // through the debugger, which the page's content security policy does not bind
  const found = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
  const { violations } = found as axe.AxeResults; // what `axe.run` promises
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary?.split("\n")[1]?.trim()}`),
  );
}
