import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { UsageReport } from "./upstream.ts";

/** What the aggregator says of a call: by which id it knows it, and which provider served it. */
export class CallIdentity {
  /** Whether the aggregator may be asked by the id what it has billed. */
  readonly asksBilling: boolean;
  #generationId: string | undefined;
  #host: string | undefined;

  constructor(asksBilling = false) {
    this.asksBilling = asksBilling;
  }

  /** Takes the id of the answer's head, which is there before the body. */
  readHead(generationId: string | undefined): void {
    this.#generationId = generationIdOf(generationId);
  }

  /** Takes what an answer, a chunk or the body of an error says; what is known already stays. */
  read(answer: JsonObject): void {
    this.#generationId ??= generationIdOf(answer["id"]);
    this.#host ??= hostOf(answer["provider"]);
    if (this.#host === undefined && isObject(answer["error"])) this.readError(answer["error"]);
  }

  /** Takes the provider that an error came from. */
  readError(error: Json | undefined): void {
    const metadata = isObject(error) ? error["metadata"] : undefined;
    if (isObject(metadata)) this.#host ??= hostOf(metadata["provider_name"]);
  }

  /** The report with what is known of the call; the same object where nothing is. */
  addTo(report: UsageReport): UsageReport {
    const [generationId, host] = [this.#generationId, this.#host];
    if (generationId === undefined && host === undefined) return report;
    return {
      ...report,
      ...(generationId === undefined ? {} : { generationId, ...(this.asksBilling && { asksBilling: true as const }) }),
      ...(host === undefined ? {} : { host }),
    };
  }
}

/** The id that an aggregator gives to a call, if it is one that can be asked about. */
function generationIdOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9_.:-]{3,127}$/.test(value) ? value : undefined;
}

/** A provider's name, such as `Google Vertex (Europe)`. What is longer or has other characters is none and is not kept. */
function hostOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9 _.:()/&+-]{0,63}$/.test(value) ? value : undefined;
}
