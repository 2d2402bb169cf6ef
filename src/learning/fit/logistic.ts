/** One observation of a yes-or-no outcome. */
export interface Observation {
  readonly features: readonly number[];
  readonly positive: boolean;
  /** How many observations it stands for; above 0. */
  readonly weight: number;
}

/** A model of a probability: features are centred and scaled, weighted and summed. */
export interface LogisticModel {
  readonly intercept: number;
  readonly centre: readonly number[];
  readonly scale: readonly number[];
  readonly weights: readonly number[];
}

export function probabilityOf(model: LogisticModel, features: readonly number[]): number {
  let sum = model.intercept;
  for (const [index, weight] of model.weights.entries()) sum += weight * standardized(model, features, index);
  return 1 / (1 + Math.exp(-sum));
}

/**
 * Fits a logistic model with a ridge penalty of `ridge` on each weight (not on the intercept), by Newton's method. A feature
 * that does not vary has the weight 0. With no observation of one of the two outcomes it is the smoothed share alone.
 */
export function fitLogistic(observations: readonly Observation[], ridge: number): LogisticModel {
  const size = observations[0]?.features.length ?? 0;
  const total = observations.reduce((sum, { weight }) => sum + weight, 0);
  const positive = observations.reduce((sum, { weight, positive }) => sum + (positive ? weight : 0), 0);
  const mean = (value: (observation: Observation) => number) =>
    observations.reduce((sum, each) => sum + each.weight * value(each), 0) / Math.max(total, 1e-9);
  const centre = Array.from({ length: size }, (_, index) => mean(({ features }) => features[index] ?? 0));
  const scale = centre.map((middle, index) =>
    Math.sqrt(mean(({ features }) => ((features[index] ?? 0) - middle) ** 2)),
  );
  const share = (positive + 0.5) / (total + 1);
  let model: LogisticModel = {
    intercept: Math.log(share / (1 - share)),
    centre,
    scale: scale.map((each) => (each < 1e-6 ? 0 : each)),
    weights: centre.map(() => 0),
  };
  if (positive === 0 || positive === total) return model;
  for (let step = 0; step < 12; step++) model = newtonStep(model, observations, ridge);
  return model;
}

function standardized({ centre, scale }: LogisticModel, features: readonly number[], index: number): number {
  const width = scale[index] ?? 0;
  // Cut where the records say nothing any more.
  return width === 0 ? 0 : Math.max(-4, Math.min(4, ((features[index] ?? 0) - (centre[index] ?? 0)) / width));
}

function newtonStep(model: LogisticModel, observations: readonly Observation[], ridge: number): LogisticModel {
  const size = model.weights.length + 1;
  const gradient = new Float64Array(size);
  const hessian = Array.from({ length: size }, () => new Float64Array(size));
  const x = new Float64Array(size);
  for (const { features, positive, weight } of observations) {
    x[0] = 1;
    for (let index = 1; index < size; index++) x[index] = standardized(model, features, index - 1);
    const expected = probabilityOf(model, features);
    const error = weight * ((positive ? 1 : 0) - expected);
    const curvature = weight * expected * (1 - expected);
    for (let row = 0; row < size; row++) {
      const at = x[row] ?? 0;
      gradient[row] = (gradient[row] ?? 0) + error * at;
      const line = hessian[row];
      if (line === undefined) continue;
      for (let column = 0; column <= row; column++)
        line[column] = (line[column] ?? 0) + curvature * at * (x[column] ?? 0);
    }
  }
  for (let row = 0; row < size; row++) {
    const line = hessian[row];
    if (line === undefined) continue;
    line[row] = (line[row] ?? 0) + (row === 0 ? 1e-6 : ridge);
    if (row > 0) gradient[row] = (gradient[row] ?? 0) - ridge * (model.weights[row - 1] ?? 0);
  }
  const change = solved(hessian, gradient);
  return {
    ...model,
    intercept: model.intercept + (change[0] ?? 0),
    weights: model.weights.map((weight, index) => weight + (change[index + 1] ?? 0)),
  };
}

/** Solves a symmetric positive definite system, given by its lower half, by Cholesky decomposition. */
function solved(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const size = right.length;
  const at = (row: number, column: number) => matrix[row]?.[column] ?? 0;
  for (let row = 0; row < size; row++) {
    const line = matrix[row];
    if (line === undefined) continue;
    for (let column = 0; column <= row; column++) {
      let sum = at(row, column);
      for (let index = 0; index < column; index++) sum -= at(row, index) * at(column, index);
      line[column] = row === column ? Math.sqrt(Math.max(sum, 1e-12)) : sum / at(column, column);
    }
  }
  const result = Float64Array.from(right);
  for (let row = 0; row < size; row++) {
    let sum = result[row] ?? 0;
    for (let index = 0; index < row; index++) sum -= at(row, index) * (result[index] ?? 0);
    result[row] = sum / at(row, row);
  }
  for (let row = size - 1; row >= 0; row--) {
    let sum = result[row] ?? 0;
    for (let index = row + 1; index < size; index++) sum -= at(index, row) * (result[index] ?? 0);
    result[row] = sum / at(row, row);
  }
  return result;
}
