import type { DashboardSources } from "#dashboard/sources.ts";
import { tierOfRole } from "#domain/model.ts";

/** The tier of a model by its key; null where the registry does not have it any more. */
export function modelTier({ config }: Pick<DashboardSources, "config">, key: string) {
  const model = config().registry.models.get(key);
  return model === undefined ? null : tierOfRole[model.role];
}
