import { nearest } from "#config/problem.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { OverrideChange } from "#health/store/health-store.ts";
import { systemClock } from "#platform/system-clock.ts";
import type { Operator } from "./audit.ts";
import { OperatorProblem } from "./problem.ts";
import type { OperatorStores } from "./stores.ts";

const audited = { disable: "model_disabled", enable: "model_enabled", reset: "model_reset" } as const;

/** Stores an operator's override of a model's health: every gateway on the database follows within a second. */
export async function overrideModel(
  ports: Pick<OperatorStores, "actions"> & { readonly override: (change: OverrideChange) => Promise<unknown> },
  { models }: Pick<ModelRegistry, "models">,
  { model, action }: Pick<OverrideChange, "model" | "action">,
  operator: Operator,
) {
  if (!models.has(model)) {
    const close = nearest(model, models.keys());
    const hint = close === undefined ? `known: ${[...models.keys()].join(", ")}` : `did you mean ${close}?`;
    const detail = `no model ${JSON.stringify(model)} in the registry; ${hint}`;
    throw new OperatorProblem("not_found", detail, "unknown_model");
  }
  const by = `${operator.name}@${operator.by === "shell" ? "shell" : "dashboard"}`;
  const atMs = systemClock.now();
  await ports.override({ model, action, by, atMs });
  await (await ports.actions()).add(operator, { action: audited[action], target: model });
  const stays = action === "enable" && models.get(model)?.enabled === false;
  const follows = stays
    ? "The registry file disables it, and that stands."
    : "Every gateway on this database follows within a second.";
  return { model, action, by, at_ms: atMs, follows };
}
