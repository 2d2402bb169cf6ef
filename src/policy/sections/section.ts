import { z } from "zod";

/** The types that several sections of the policy share. */

export const usd = z.number().min(0).max(1_000_000);
export const ms = z.int().min(0).max(86_400_000);
export const share = z.number().min(0).max(1);

/** An object all of whose keys have defaults: absent, it is its defaults. */
export function section<S extends z.ZodRawShape>(shape: S) {
  return z.strictObject(shape).prefault({} as never); // every key of every section has a default, so {} parses
}
