import { expect, test } from "bun:test";
import { manualTime } from "#platform/manual-time.ts";
import { Closing } from "./closing.ts";

const never = () => new Promise<void>(() => {});

test("what was opened last is closed first, and each is waited for", async () => {
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

test("stores that may lose their last writes hold up the rest for three seconds, however many of them hang", async () => {
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
