/** One observation of the probability of something. */
export interface Observation {
  readonly features: Float64Array;
  /** What is known of the logarithm of the odds before the fit, up to a constant; the fit corrects it. */
  readonly prior?: number;
  /** Whether it happened: 1 or 0, or a probability where that is all that is known. */
  readonly target: number;
  /** How many observations it stands for; above 0. */
  readonly weight: number;
}

/** The logarithm of the odds is the prior + `intercept` + the sum of `weights` × features. */
export interface LogisticModel {
  readonly intercept: number;
  readonly weights: Float64Array;
}

const maxSteps = 12;
const convergenceTolerance = 1e-4;

/**
 * Fits a logistic model with a penalty of `ridge`/2 × the square of each weight (not of the intercept), by Newton's method.
 * It begins with the smoothed share alone; of targets that are all 0 or all 1 it stays near that.
 */
export function fitLogistic(observations: readonly Observation[], ridge: number): LogisticModel {
  const size = observations[0]?.features.length ?? 0;
  const total = observations.reduce((sum, { weight }) => sum + weight, 0);
  const positive = observations.reduce((sum, { weight, target }) => sum + weight * target, 0);
  const share = (positive + 0.5) / (total + 1);
  const meanPrior =
    observations.reduce((sum, { weight, prior = 0 }) => sum + weight * prior, 0) / Math.max(total, 1e-9);
  // The intercept first, then one weight for each feature.
  const model = new Float64Array(size + 1);
  model[0] = Math.log(share / (1 - share)) - meanPrior;
  if (positive > 0 && positive < total) {
    for (let step = 0; step < maxSteps; step++) {
      const change = newtonStep(model, observations, ridge);
      for (const [at, by] of change.entries()) model[at] = (model[at] ?? 0) + by;
      if (change.every((by) => Math.abs(by) < convergenceTolerance)) break;
    }
  }
  return { intercept: model[0] ?? 0, weights: model.slice(1) };
}

function newtonStep(model: Float64Array, observations: readonly Observation[], ridge: number): Float64Array {
  const size = model.length;
  const gradient = new Float64Array(size);
  const hessian = Array.from({ length: size }, () => new Float64Array(size));
  const x = new Float64Array(size);
  x[0] = 1;
  for (const { features, prior = 0, target, weight } of observations) {
    x.set(features, 1);
    let sum = prior;
    for (let at = 0; at < size; at++) sum += (model[at] ?? 0) * (x[at] ?? 0);
    const expected = 1 / (1 + Math.exp(-sum));
    const error = weight * (target - expected);
    const curvature = weight * Math.max(1e-6, expected * (1 - expected));
    for (let row = 0; row < size; row++) {
      const at = x[row] ?? 0;
      gradient[row] = (gradient[row] ?? 0) + error * at;
      const line = hessian[row];
      if (line === undefined) continue;
      const scaled = curvature * at;
      for (let column = 0; column <= row; column++) line[column] = (line[column] ?? 0) + scaled * (x[column] ?? 0);
    }
  }
  for (let row = 1; row < size; row++) {
    const line = hessian[row];
    if (line !== undefined) line[row] = (line[row] ?? 0) + ridge;
    gradient[row] = (gradient[row] ?? 0) - ridge * (model[row] ?? 0);
  }
  const lower = cholesky(hessian);
  return solvedUpper(lower, solvedLower(lower, gradient));
}

/** The lower triangle whose product with its transpose is a symmetric matrix, given by its lower half; written over it. */
export function cholesky(matrix: readonly Float64Array[]): readonly Float64Array[] {
  const at = (row: number, column: number) => matrix[row]?.[column] ?? 0;
  for (const [row, line] of matrix.entries()) {
    for (let column = 0; column <= row; column++) {
      let sum = at(row, column);
      for (let index = 0; index < column; index++) sum -= at(row, index) * at(column, index);
      line[column] = row === column ? Math.sqrt(Math.max(sum, 1e-9)) : sum / at(column, column);
    }
  }
  return matrix;
}

/** Solves lower × result = right. */
export function solvedLower(lower: readonly Float64Array[], right: Float64Array): Float64Array {
  const result = Float64Array.from(right);
  for (const [row, line] of lower.entries()) {
    let sum = result[row] ?? 0;
    for (let index = 0; index < row; index++) sum -= (line[index] ?? 0) * (result[index] ?? 0);
    result[row] = sum / (line[row] ?? 1);
  }
  return result;
}

/** Solves transpose(lower) × result = right. */
export function solvedUpper(lower: readonly Float64Array[], right: Float64Array): Float64Array {
  const result = Float64Array.from(right);
  for (let row = lower.length - 1; row >= 0; row--) {
    let sum = result[row] ?? 0;
    for (let index = row + 1; index < lower.length; index++) sum -= (lower[index]?.[row] ?? 0) * (result[index] ?? 0);
    result[row] = sum / (lower[row]?.[row] ?? 1);
  }
  return result;
}
