/**
 * Made by scripts/fit-score-scale.ts; do not edit. The points below which 0, 1, … 99 % of public prompts lie, every source counting
 * the same: MMLU-Pro, MATH, GSM8K, MMLU, HumanEval, CommonsenseQA, CommonGen, CRUXEval, SWE-bench Lite, Exercism and UncommonRoute
 * (MIT), DebugBench, OpenBookQA, LogicGrid and Berkeley function calling (Apache-2.0), MBPP (CC BY 4.0). Numbers only; no text of
 * theirs is here.
 */
// biome-ignore format: numbers in rows of ten
export const sharePoints: readonly number[] = [
  0, 8.32, 12.08, 14.25, 14.63, 14.64, 15.6, 15.61, 15.62, 15.63,
  16.5, 16.51, 17.25, 18, 18.01, 18.67, 19.27, 19.42, 20.02, 20.33,
  20.85, 20.86, 21.3, 21.6, 21.67, 22.13, 22.42, 22.5, 22.88, 22.89,
  23.01, 23.17, 23.25, 23.55, 23.63, 23.85, 23.86, 23.92, 24.15, 24.3,
  24.38, 24.45, 24.6, 24.75, 24.9, 25.05, 25.2, 25.28, 25.5, 25.51,
  25.65, 25.8, 25.95, 26.03, 26.25, 26.55, 26.7, 26.99, 27.21, 27.45,
  27.68, 28.05, 28.42, 28.73, 29.01, 29.3, 29.63, 29.92, 30.15, 30.42,
  30.6, 30.83, 31.05, 31.2, 31.35, 31.58, 31.73, 32.03, 32.33, 32.78,
  33.15, 33.59, 33.97, 34.41, 34.77, 35.16, 35.55, 36, 36.45, 37.05,
  37.5, 37.98, 38.6, 39.15, 39.72, 40.35, 40.95, 41.84, 42.72, 43.61,
];
