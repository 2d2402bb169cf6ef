import { featureCount } from "#domain/learned-weights.ts";
import { type Landmarks, similarity, standardized } from "#pipeline/decide/learned/learned-score.ts";
import type { Random } from "#platform/time.ts";
import { cholesky, solvedLower, solvedUpper } from "./logistic.ts";

/**
 * The first features are the four dimensions. They are left out: the counts of the ask rank it better without them, and the score
 * stays monotone in each dimension.
 */
const firstFeature = 4;
/** How fast the similarity falls with the mean squared distance. */
const width = 1;
const maxLandmarks = 60;
/** k-means runs over at most this many vectors, for this many rounds. */
const maxSampled = 4_000;
const rounds = 8;
/** Added to the diagonal: landmarks that nearly coincide would make the matrix singular. */
const jitter = 1e-3;

/** Typical feature vectors: the centres of clusters (k-means). The same vectors and random numbers give the same. */
export function landmarksOf(vectors: readonly (readonly number[])[], random: Random): Landmarks {
  const count = Math.max(1, vectors.length);
  const centre = Array.from({ length: featureCount }, (_, at) => sumOf(vectors, (each) => each[at] ?? 0) / count);
  const scale = centre.map((mean, at) => {
    const spread = Math.sqrt(sumOf(vectors, (each) => ((each[at] ?? 0) - mean) ** 2) / count);
    return at < firstFeature || spread < 1e-6 ? 0 : spread;
  });
  const sample = shuffled(vectors, random)
    .slice(0, maxSampled)
    .map((each) => standardized({ centre, scale }, each));
  const distinct = [...new Map(sample.map((point) => [point.join(" "), point])).values()];
  let landmarks = distinct.slice(0, maxLandmarks);
  for (let round = 0; round < rounds; round++) landmarks = centresOf(sample, landmarks);
  return { centre, scale, width, landmarks: landmarks.map((each) => [...each]) };
}

/** Each cluster's mean: of the points that are nearest to its landmark. */
function centresOf(points: readonly Float64Array[], landmarks: readonly Float64Array[]): Float64Array[] {
  const sums = landmarks.map(({ length }) => new Float64Array(length));
  const sizes = new Float64Array(landmarks.length);
  for (const point of points) {
    let nearest = 0;
    let best = -1;
    for (const [at, landmark] of landmarks.entries()) {
      const alike = similarity(point, landmark, 0, width);
      if (alike > best) [best, nearest] = [alike, at];
    }
    sizes[nearest] = (sizes[nearest] ?? 0) + 1;
    const sum = sums[nearest];
    for (let at = 0; sum !== undefined && at < sum.length; at++) sum[at] = (sum[at] ?? 0) + (point[at] ?? 0);
  }
  return landmarks.map((landmark, at) => {
    const size = sizes[at] ?? 0;
    return size === 0 ? landmark : (sums[at] ?? landmark).map((sum) => sum / size);
  });
}

/**
 * Features in which the penalty of a linear fit is that of a smooth function of the similarities (a Gaussian process on the
 * landmarks, Nyström's approximation), and the way back to one weight for each landmark.
 */
export function smoothFeatures(landmarks: Landmarks): {
  of(features: readonly number[]): Float64Array;
  weightsOf(fitted: Float64Array): Float64Array;
} {
  const packed = Float64Array.from(landmarks.landmarks.flat());
  const similarities = (point: Float64Array) =>
    Float64Array.from(landmarks.landmarks, (_, at) => similarity(point, packed, at, landmarks.width));
  const lower = cholesky(
    landmarks.landmarks.map((landmark, at) => {
      const row = similarities(Float64Array.from(landmark));
      row[at] = 1 + jitter;
      return row;
    }),
  );
  return {
    of: (features) => solvedLower(lower, similarities(standardized(landmarks, features))),
    weightsOf: (fitted) => solvedUpper(lower, fitted),
  };
}

/** A random order of the items (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const result = [...items];
  for (let at = result.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [result[at], result[other]] = [result[other] as T, result[at] as T]; // both are within
  }
  return result;
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += value(item);
  return sum;
}

/** Uniform numbers in [0, 1) of a linear congruential generator: the same records give the same weights and the same folds. */
export function randomSequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
