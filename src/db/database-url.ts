/** Where the gateway keeps its data, as `DATABASE_URL` names it. */
export type DatabaseLocation =
  /** `path` as SQLite takes it; `:memory:` is a database that ends with its process. */
  { readonly kind: "sqlite"; readonly path: string } | { readonly kind: "postgres"; readonly url: string };

export const defaultDatabaseUrl = "sqlite:./data/gateway.db";
/** Path of a database that ends with its process. */
export const inMemoryPath = ":memory:";
/** The end of a message that begins with the name of the setting. */
export const databaseUrlForms = "must be sqlite:<path>, sqlite::memory: or postgres://user:password@host/database";

/** The database that a URL names; undefined when it has none of the forms. */
export function parseDatabaseUrl(url: string): DatabaseLocation | undefined {
  if (/^sqlite:(?!\/\/)./.test(url)) return { kind: "sqlite", path: url.slice("sqlite:".length) };
  if (/^postgres(ql)?:\/\//.test(url) && URL.parse(url) !== null) return { kind: "postgres", url };
  return undefined;
}

/** As `parseDatabaseUrl`, for a URL that was checked before. Throws when it has none of the forms. */
export function databaseLocationOf(url: string): DatabaseLocation {
  const location = parseDatabaseUrl(url);
  // Never the URL itself: it may carry a password.
  if (location === undefined) throw new Error(`DATABASE_URL ${databaseUrlForms}`);
  return location;
}
