import type { DecisionRecords } from "#records/records.ts";
import { ApiProblem } from "./handlers.ts";

/** The same records, whose readings reject with a 503 when the store cannot be read. */
export function readableRecords(records: DecisionRecords): DecisionRecords {
  const answering = <T>(reading: Promise<T>): Promise<T> =>
    reading.catch(() => {
      // A driver's message may hold the database's address.
      throw new ApiProblem(503, "The decision records cannot be read now. Try again shortly.", "records_unavailable");
    });
  return {
    append: (news) => records.append(news),
    query: (filter, page) => answering(records.query(filter, page)),
    get: (id) => answering(records.get(id)),
    summary: (range, filter) => answering(records.summary(range, filter)),
    series: (request) => answering(records.series(request)),
    groups: (by, range, limit) => answering(records.groups(by, range, limit)),
    subscribe: (filter, onRecords) => records.subscribe(filter, onRecords),
    export: (filter) => records.export(filter),
    configuration: (hash) => answering(records.configuration(hash)),
    status: () => records.status(),
  };
}
