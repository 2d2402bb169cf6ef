import { textTable } from "#cli/table.ts";
import type { CrossValidation, Estimate } from "#learning/fit/cross-validation.ts";

/** The counts of the records, and the result of the fit. */
export interface Learned {
  readonly since: string;
  readonly asks: number;
  readonly failed: number;
  readonly rescue_trials: number;
  readonly rescued: number;
  readonly needed: number;
  readonly held_back?: CrossValidation;
  /** Where the weights were written. */
  readonly written?: string;
  /** Why nothing was fitted or written. */
  readonly refused?: string;
}

/** The result of the fit as text. `unnamedFile`: where weights would be written if the policy names no file. */
export function learnReport(learned: Learned, unnamedFile: string | undefined): string {
  const { since, asks, failed, rescue_trials, rescued, held_back, written, refused } = learned;
  const lines = [
    `Since ${since.slice(0, 16).replace("T", " ")} UTC flash answered ${asks} recorded asks and failed at ${failed}.`,
    `Of ${rescue_trials} failures it is known whether pro solved them: it solved ${rescued}.`,
  ];
  if (held_back !== undefined) {
    const { rescuedRank, proShare, solvedFirst, cost } = held_back;
    const share = (value: number) => `${(100 * value).toFixed(1)} %`;
    const rows = [
      [
        "rank of asks that only pro solved (0.5: chance)",
        rescuedRank.shipped.toFixed(3),
        rescuedRank.learned.toFixed(3),
        changeOf(rescuedRank.change, 1, 3),
      ],
      ["asks routed to pro", share(proShare.shipped), share(proShare.learned), changeOf(proShare.change, 100, 1, " %")],
      ["asks solved by the first model", "", "", changeOf(solvedFirst, 100, 1, " %")],
      ["cost, with retries on pro", "", "", changeOf(cost, 100, 1, " %")],
    ];
    lines.push(
      "",
      `Judged on ${held_back.asks} asks, each with weights fitted to other records:`,
      textTable(["", "now", "learned", "change [95 % interval]"], rows),
    );
    if (rescuedRank.change.low <= 0)
      lines.push("", "The interval of the rank contains no change: more records would tell.");
  }
  lines.push("");
  if (refused !== undefined) lines.push(`Nothing was written: ${refused}.`);
  else if (written === undefined) lines.push("Nothing was written. --write writes the weights.");
  else lines.push(`Written: ${written}`);
  if (written !== undefined && unnamedFile !== undefined)
    lines.push(`To use it, put this into the policy:\nrouting:\n  learned:\n    weights_file: ${unnamedFile}`);
  return lines.join("\n");
}

function changeOf({ value, low, high }: Estimate, factor: number, digits: number, unit = ""): string {
  const signed = (number: number) => `${number < 0 ? "" : "+"}${(factor * number).toFixed(digits)}`;
  return `${signed(value)}${unit} [${signed(low)}, ${signed(high)}]`;
}
