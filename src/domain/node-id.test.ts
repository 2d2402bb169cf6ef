import { expect, test } from "bun:test";
import { pidInNodeId, processNodeId } from "./node-id.ts";

test("a process without NODE_ID is named by its host and process id, which processes on that host can parse", () => {
  expect(processNodeId("häuser 7", 42)).toBe("h-user-7-42");
  expect(processNodeId("", 42)).toBe("node-42");
  for (const host of ["vm", "häuser 7", "", "vm-1", "a.b"]) {
    expect(pidInNodeId(processNodeId(host, 4_242), host)).toBe(4_242);
    expect(pidInNodeId(`${processNodeId(host, 4_242)}.3`, host)).toBe(4_242);
  }
});

test.each(["gateway", "vm-", "vm-0", "vm-12x", "vm-1.2.3", "vmx-12", "other-12", "vm-1-12", "vm-9999999999"])(
  "%s is not a default name of a process on the host vm",
  (nodeId) => {
    expect(pidInNodeId(nodeId, "vm")).toBeUndefined();
  },
);
