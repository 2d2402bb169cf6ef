/**
 * Made by scripts/fit-score-scale.ts; do not edit. The points below which 0, 1, … 99 % of public prompts lie, every source counting
 * the same: MMLU-Pro, MATH, GSM8K, MMLU, HumanEval, CommonsenseQA, CommonGen, CRUXEval, SWE-bench Lite, Exercism and UncommonRoute
 * (MIT), DebugBench, OpenBookQA, LogicGrid and Berkeley function calling (Apache-2.0), MBPP (CC BY 4.0). Numbers only; no text of
 * theirs is here.
 */
// biome-ignore format: numbers in rows of ten
export const sharePoints: readonly number[] = [
  0, 6.67, 9.25, 11.85, 13.43, 14.63, 15.25, 15.6, 15.61, 16.5,
  17.25, 18, 18.44, 18.67, 19.54, 20.33, 20.63, 20.85, 21.3, 21.54,
  21.67, 21.8, 22.13, 22.2, 22.5, 22.58, 22.88, 22.89, 23.03, 23.17,
  23.28, 23.48, 23.55, 23.72, 23.85, 23.86, 24.07, 24.15, 24.2, 24.45,
  24.46, 24.75, 24.76, 25.05, 25.06, 25.28, 25.35, 25.5, 25.58, 25.8,
  25.85, 26.1, 26.32, 26.57, 26.87, 27.08, 27.35, 27.62, 27.96, 28.26,
  28.55, 28.88, 29.21, 29.4, 29.62, 29.8, 30.02, 30.23, 30.43, 30.62,
  30.81, 30.98, 31.2, 31.37, 31.55, 31.74, 31.98, 32.21, 32.44, 32.71,
  33.02, 33.42, 33.8, 34.16, 34.52, 34.85, 35.33, 35.86, 36.48, 37.3,
  37.95, 38.53, 39, 39.39, 39.88, 40.29, 40.66, 41.27, 42.19, 43.38,
];
