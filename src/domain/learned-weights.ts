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
    "both numbers of a pair must rise from one pair to the next",
  );

/**
 * What `smart-gateway policy learn` has fitted to the outcomes of an installation. Landmarks are typical feature vectors; an ask is
 * compared with each of them, and the weighted sum of its similarities tells how likely flash is to fail at it and pro to solve it.
 */
export const LearnedWeights = z
  .strictObject({
    /** The version of this file's form. */
    format: z.literal(1),
    feature_version: z.literal(featureVersion),
    fitted_at: z.iso.datetime(),
    /** Outcome records of asks that flash answered. */
    records: z.int().min(1),
    /** Failures of flash of which it is known whether pro solved them. */
    rescue_trials: z.int().min(1),
    /** The share of the learned rank in the score; the rest is the shipped score's. */
    blend: z.number().gt(0).lt(1),
    /** Mean and spread of each feature; a spread of 0: it is not used. */
    centre: vector,
    scale: z.array(z.number().min(0)).length(featureCount).readonly(),
    /** Similarity with the nearest landmark from which the learned rank counts in full; below it, in proportion. */
    reach: z.number().gt(0).max(1),
    /** Shipped score up to which a score may be lowered: above it hardly any ask was answered by flash. */
    lowers_up_to: z.number().min(0).max(100),
    /** How fast the similarity falls with the mean squared distance. */
    width: z.number().gt(0),
    /** Typical asks: the features that are used, in units of their spread; and the weight of the similarity with each. */
    landmarks: z.array(z.array(z.number()).max(featureCount).readonly()).min(1).max(200).readonly(),
    weights: z.array(z.number()).min(1).max(200).readonly(),
    intercept: z.number(),
    /** In place of routing.run_prose_chars, while this model is the worker: most of its runs wrote less. */
    run_prose: z.strictObject({ model: z.string().min(1), runs: z.int().min(1), chars: z.int().min(0) }).optional(),
    /** What the shipped score adds to the weighted sum, at a score of 100; 0 where a file does not say it. */
    score_weight: z.number().min(0).default(0),
    /** From the weighted sum to its rank among the records, and from the blend of both ranks to the score; 0 to 100. */
    rank_knots: Knots,
    score_knots: Knots,
  })
  .refine(
    ({ landmarks, scale }) => landmarks.every(({ length }) => length === scale.filter((spread) => spread > 0).length),
    { path: ["landmarks"], message: "must have one number for each feature that is used" },
  )
  .refine(({ landmarks, weights }) => landmarks.length === weights.length, {
    path: ["weights"],
    message: "must have one weight for each landmark",
  });
export type LearnedWeights = z.infer<typeof LearnedWeights>;
