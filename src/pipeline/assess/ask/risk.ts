import type { Level, TaskKind } from "#domain/routing.ts";
import type { AskFeatures } from "./features.ts";

/** How much harm a wrong answer could do, and how far it would reach. */
export interface Risk {
  readonly risk_level: Level;
  readonly blast_radius: Level;
}

/**
 * Conservative on purpose: HIGH sends a guarded kind to the senior model by a hard rule, so it is given only where the
 * ask is to *change* something guarded, never for reading, explaining, summarizing or testing it. CRITICAL is kept for
 * destruction that names production or says itself that it cannot be undone.
 */
export function riskOf(kind: TaskKind, features: AskFeatures): Risk {
  const { topics } = features;
  const production = topics.count("production") > 0;
  switch (kind) {
    case "DESTRUCTIVE_MIGRATION":
      return production || topics.count("destructive") >= 2
        ? { risk_level: "CRITICAL", blast_radius: "HIGH" }
        : { risk_level: "HIGH", blast_radius: "HIGH" };
    case "SECURITY":
    case "AUTH":
    case "PAYMENT":
      return { risk_level: "HIGH", blast_radius: production ? "HIGH" : "MEDIUM" };
    case "ARCHITECTURE":
      return { risk_level: "MEDIUM", blast_radius: "MEDIUM" };
    case "DEBUG":
    case "CODING":
      return production || topics.count("migrating") > 0
        ? { risk_level: "MEDIUM", blast_radius: production ? "MEDIUM" : "LOW" }
        : { risk_level: kind === "DEBUG" ? "MEDIUM" : "LOW", blast_radius: "LOW" };
    default:
      return { risk_level: "LOW", blast_radius: "LOW" };
  }
}
