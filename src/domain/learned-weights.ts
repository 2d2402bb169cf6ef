import { z } from "zod";

/** The version of the features of an ask, and how many there are; a release that changes them changes the version. */
export const featureVersion = 2;
export const featureCount = 15;

const vector = z.array(z.number()).length(featureCount).readonly();
/** Pairs of a value and a score, both rising strictly; linear between them. */
const Knots = z
  .array(z.tuple([z.number(), z.number().min(0).max(100)]).readonly())
  .min(2)
  .max(201)
  .readonly()
  .refine(
    (knots) =>
      knots.every(([x, y], at) => at === 0 || (x > (knots[at - 1]?.[0] ?? x) && y > (knots[at - 1]?.[1] ?? y))),
    {
      message: "both numbers of a pair must rise from one pair to the next",
    },
  );

/**
 * What `smart-gateway policy learn` has fitted to the outcomes of an installation. Landmarks are typical feature vectors; an ask is
 * compared with each of them, and the weighted sum of its similarities tells how likely flash is to fail at it and pro to solve it.
 */
export const LearnedWeights = z
  .strictObject({
    format: z.literal(1).describe("The version of this file's form."),
    feature_version: z.literal(featureVersion).describe("The version of the features it was fitted to."),
    fitted_at: z.iso.datetime().describe("When it was fitted."),
    records: z.int().min(1).describe("Outcome records of asks that flash answered."),
    rescue_trials: z.int().min(1).describe("Failures of flash of which it is known whether pro solved them."),
    blend: z
      .number()
      .gt(0)
      .lt(1)
      .describe("The share of the learned rank in the score; the rest is the shipped score's."),
    centre: vector.describe("Mean of each feature."),
    scale: z
      .array(z.number().min(0))
      .length(featureCount)
      .readonly()
      .describe("Spread of each feature; 0: it is not used."),
    reach: z
      .number()
      .gt(0)
      .max(1)
      .describe(
        "Similarity with the nearest landmark from which the learned rank counts in full; below it, in proportion.",
      ),
    lowers_up_to: z
      .number()
      .min(0)
      .max(100)
      .describe("Shipped score up to which a score may be lowered: above it hardly any ask was answered by flash."),
    width: z.number().gt(0).describe("How fast the similarity falls with the mean squared distance."),
    landmarks: z
      .array(z.array(z.number()).max(featureCount).readonly())
      .min(1)
      .max(200)
      .readonly()
      .describe("Typical asks: the features that are used, in units of their spread."),
    weights: z.array(z.number()).min(1).max(200).readonly().describe("Weight of the similarity with each landmark."),
    intercept: z.number(),
    run_prose: z
      .strictObject({ model: z.string().min(1), runs: z.int().min(1), chars: z.int().min(0) })
      .optional()
      .describe("In place of routing.run_prose_chars, while this model is the worker: most of its runs wrote less."),
    score_weight: z
      .number()
      .min(0)
      .default(0)
      .describe("What the shipped score adds to the weighted sum, at a score of 100; 0 where a file does not say it."),
    rank_knots: Knots.describe("From the weighted sum to its rank among the records, 0 to 100."),
    score_knots: Knots.describe(
      "From the blend of both ranks to the score: the share of the records with less, 0 to 100.",
    ),
  })
  .refine(
    ({ landmarks, scale }) => landmarks.every(({ length }) => length === scale.filter((spread) => spread > 0).length),
    {
      path: ["landmarks"],
      message: "must have one number for each feature that is used",
    },
  )
  .refine(({ landmarks, weights }) => landmarks.length === weights.length, {
    path: ["weights"],
    message: "must have one weight for each landmark",
  });
export type LearnedWeights = z.infer<typeof LearnedWeights>;
