/**
 * Made by scripts/fit-score-scale.ts; do not edit. The points below which 0, 1, … 99 % of public prompts lie, every
 * source counting the same: MMLU-Pro, MATH, GSM8K, MMLU, HumanEval, CommonsenseQA, CommonGen, CRUXEval, SWE-bench Lite,
 * Exercism and UncommonRoute (MIT), DebugBench, OpenBookQA, LogicGrid and Berkeley function calling (Apache-2.0), MBPP
 * (CC BY 4.0). Numbers only; no text of theirs is here.
 */
// biome-ignore format: numbers in rows of ten
export const sharePoints: readonly number[] = [
  0, 9.68, 12.08, 14.63, 14.64, 14.65, 15.6, 15.61, 15.62, 15.63,
  16.5, 16.51, 17.25, 18, 18.01, 18.67, 19.27, 19.8, 20.33, 20.34,
  20.85, 21.08, 21.3, 21.67, 22.05, 22.13, 22.42, 22.5, 22.88, 22.89,
  23.17, 23.18, 23.25, 23.55, 23.63, 23.85, 23.86, 24, 24.15, 24.3,
  24.45, 24.46, 24.75, 24.76, 24.9, 25.05, 25.2, 25.28, 25.5, 25.51,
  25.8, 25.81, 26.03, 26.25, 26.26, 26.55, 26.78, 27, 27.23, 27.45,
  27.75, 28.19, 28.43, 28.8, 29.1, 29.4, 29.76, 30, 30.23, 30.45,
  30.68, 30.83, 31.05, 31.2, 31.35, 31.58, 31.8, 32.03, 32.4, 32.82,
  33.15, 33.59, 33.9, 34.32, 34.72, 35.03, 35.4, 35.85, 36.41, 36.82,
  37.42, 37.92, 38.45, 39.02, 39.6, 40.25, 40.89, 41.78, 42.68, 43.61,
];
