import { expect, test } from "bun:test";
import type { Operator } from "#dashboard/access/access.ts";
import { manualTime } from "#platform/manual-time.ts";
import type { ApiHandlers } from "./endpoint.ts";
import { ApiRouter, type ApiRouterOptions } from "./router.ts";

test("of calls beyond 64 at once each is answered 503 with Retry-After, and served as soon as one has ended", async () => {
  const held: (() => void)[] = [];
  const handler = () => new Promise((resolve) => held.push(() => resolve({ found: true })));
  const options: Partial<ApiRouterOptions> = {
    endpoints: new Proxy({}, { get: () => handler }) as ApiHandlers,
    timers: manualTime().timers,
  };
  const router = new ApiRouter(options as ApiRouterOptions); // a GET needs no other
  const call = () => {
    const request = new Request("http://localhost/dashboard/api/decisions/d1");
    return router.answer("decisions/d1", new URLSearchParams(), request, {} as Operator, {});
  };
  const served = Array.from({ length: 64 }, call);
  const refused = await Promise.all(Array.from({ length: 36 }, call));
  for (const answer of refused) {
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining("as many calls as it may") });
  }
  held.shift()?.();
  expect((await served[0])?.status).toBe(200);
  const next = call();
  for (const release of held) release();
  expect((await next).status).toBe(200);
  expect((await Promise.all(served)).map(({ status }) => status)).toEqual(Array(64).fill(200));
});
