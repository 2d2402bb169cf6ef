/**
 * Made by scripts/fit-score-scale.ts; do not edit. The points below which 0, 1, … 99 % of public prompts lie, every source counting
 * the same: MMLU-Pro, MATH, GSM8K, MMLU, HumanEval, CommonsenseQA, CommonGen, CRUXEval, SWE-bench Lite, Exercism and UncommonRoute
 * (MIT), DebugBench, OpenBookQA, LogicGrid and Berkeley function calling (Apache-2.0), MBPP (CC BY 4.0). Numbers only; no text of
 * theirs is here.
 */
// biome-ignore format: numbers in rows of ten
export const sharePoints: readonly number[] = [
  0, 6.67, 9.25, 11.85, 13.43, 14.63, 15.25, 15.6, 15.61, 16.5,
  17.25, 18, 18.48, 19.05, 19.8, 20.33, 20.85, 21.15, 21.3, 21.67,
  21.98, 22.13, 22.35, 22.5, 22.71, 22.88, 22.95, 23.17, 23.25, 23.48,
  23.55, 23.7, 23.85, 23.93, 24.15, 24.16, 24.33, 24.45, 24.53, 24.75,
  24.76, 24.98, 25.05, 25.28, 25.35, 25.5, 25.65, 25.8, 25.9, 26.07,
  26.24, 26.48, 26.7, 26.99, 27.26, 27.53, 27.8, 28.02, 28.35, 28.68,
  29.04, 29.31, 29.65, 29.9, 30.18, 30.45, 30.71, 30.93, 31.14, 31.37,
  31.55, 31.74, 31.95, 32.17, 32.36, 32.55, 32.79, 33.03, 33.29, 33.65,
  33.99, 34.4, 34.8, 35.12, 35.48, 35.89, 36.33, 36.87, 37.47, 38.31,
  39.04, 39.6, 40.2, 40.54, 41.04, 41.5, 41.93, 42.66, 43.63, 44.8,
];
