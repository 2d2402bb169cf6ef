import { expect, test } from "bun:test";
import { aDecisionRecord } from "#records/fixtures.ts";
import { explain } from "./explain.ts";

const [attempt] = aDecisionRecord(1).attempts;
const onPro = {
  served_by: "vendor_v4_pro",
  tier: "pro" as const,
  attempts: [{ ...attempt!, model: "vendor_v4_pro" }],
};

test("a request that a degraded model shed says so, and not that the model failed", () => {
  const { sentence } = explain(aDecisionRecord(1, { ...onPro, health: { vendor_v4_flash: "DEGRADED" } }), undefined);
  expect(sentence).toStartWith(
    "Went to pro instead of vendor_v4_flash, which is degraded and sheds a share of its requests. vendor_v4_flash was chosen because ",
  );
});
