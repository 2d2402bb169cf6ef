import { expect, test } from "bun:test";
import { manualTime } from "#platform/testing/manual-time.ts";
import { Closing } from "./gateway-context.ts";

const never = () => new Promise<void>(() => {});

test("parts are closed in the reverse order of opening, each after the one before", async () => {
  const closing = new Closing(manualTime().timers);
  const closed: string[] = [];
  for (const part of ["configuration", "ledger", "records"]) {
    closing.add(async () => {
      await Promise.resolve();
      closed.push(part);
    });
  }
  await closing.closeAll();
  await closing.closeAll();
  expect(closed).toEqual(["records", "ledger", "configuration"]);
});

test("stores that may lose their last writes delay the close by three seconds in total, however many of them hang", async () => {
  const time = manualTime();
  const closing = new Closing(time.timers);
  const closed: string[] = [];
  closing.add(() => void closed.push("ledger"));
  closing.addWithTimeout(() => void closed.push("quick"));
  for (let hanging = 0; hanging < 5; hanging++) closing.addWithTimeout(never);
  const done = closing.closeAll();
  await time.advanceAsync(2_900);
  expect(closed).toEqual([]);
  await time.advanceAsync(200);
  await done;
  expect(closed).toEqual(["quick", "ledger"]);
});
