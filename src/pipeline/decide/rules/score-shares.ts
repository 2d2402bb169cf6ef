/**
 * Made by scripts/fit-score-scale.ts; do not edit. The points below which 0, 1, … 99 % of public prompts lie, every source counting
 * the same: MMLU-Pro, MATH, GSM8K, MMLU, HumanEval, CommonsenseQA, CommonGen, CRUXEval, SWE-bench Lite, Exercism and UncommonRoute
 * (MIT), DebugBench, OpenBookQA, LogicGrid and Berkeley function calling (Apache-2.0), MBPP (CC BY 4.0). Numbers only; no text of
 * theirs is here.
 */
// biome-ignore format: numbers in rows of ten
export const sharePoints: readonly number[] = [
  0, 6.67, 9.25, 11.85, 13.43, 14.63, 15.25, 15.6, 15.61, 16.5,
  17.25, 18, 18.48, 19.05, 19.8, 20.33, 20.85, 21.2, 21.3, 21.67,
  21.98, 22.13, 22.35, 22.5, 22.71, 22.88, 22.95, 23.17, 23.25, 23.48,
  23.55, 23.67, 23.85, 23.92, 24.15, 24.16, 24.33, 24.45, 24.53, 24.75,
  24.76, 24.98, 25.05, 25.28, 25.35, 25.5, 25.62, 25.8, 25.88, 26.04,
  26.22, 26.48, 26.7, 26.97, 27.24, 27.5, 27.8, 28.01, 28.35, 28.67,
  29.03, 29.3, 29.65, 29.88, 30.18, 30.45, 30.69, 30.93, 31.13, 31.37,
  31.53, 31.72, 31.92, 32.16, 32.33, 32.54, 32.78, 33.02, 33.27, 33.63,
  33.98, 34.35, 34.77, 35.1, 35.45, 35.87, 36.3, 36.81, 37.46, 38.28,
  39.02, 39.57, 40.17, 40.53, 41.03, 41.49, 41.92, 42.66, 43.62, 44.8,
];
