import type { Attributes, Meter } from "@opentelemetry/api";

/** The histograms of generative AI clients, with the boundaries that the conventions name. */
export interface CallMetrics {
  duration(seconds: number, attributes: Attributes): void;
  firstChunk(seconds: number, attributes: Attributes): void;
  chunk(seconds: number, attributes: Attributes): void;
  tokens(count: number, type: "input" | "output", attributes: Attributes): void;
}

const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const counts = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

export function callMetrics(meter: Meter): CallMetrics {
  const inSeconds = (name: string, description: string) =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: seconds } });
  const duration = inSeconds("gen_ai.client.operation.duration", "GenAI operation duration.");
  const firstChunk = inSeconds("gen_ai.client.operation.time_to_first_chunk", "Time to receive the first chunk.");
  const perChunk = inSeconds(
    "gen_ai.client.operation.time_per_output_chunk",
    "Time per output chunk, recorded for each chunk received after the first one.",
  );
  const tokens = meter.createHistogram("gen_ai.client.token.usage", {
    unit: "{token}",
    description: "Number of input and output tokens used.",
    advice: { explicitBucketBoundaries: counts },
  });
  return {
    duration: (value, attributes) => duration.record(value, attributes),
    firstChunk: (value, attributes) => firstChunk.record(value, attributes),
    chunk: (value, attributes) => perChunk.record(value, attributes),
    tokens: (count, type, attributes) => tokens.record(count, { ...attributes, "gen_ai.token.type": type }),
  };
}
