import type { Policy } from "#config/policy.ts";
import type { ChatRequest, Json } from "#domain/chat.ts";
import { type NanoUsd, type Surcharge, usdToNano, zeroUsd } from "#domain/money/money.ts";
import { foldName } from "#domain/output-limits.ts";
import {
  boundingFields,
  customField,
  harmfulPath,
  namesFreeTerms,
  type RestrictedField,
  restrictedFields,
} from "#domain/restricted-fields.ts";

/** What the policy does with restricted fields of requests, made once per configuration. */
export interface FieldRules {
  readonly byName: ReadonlyMap<string, FieldRule>;
  /** By the folded name: what happens to other spellings of restricted fields and of those that bound the hold. */
  readonly byFoldedName: ReadonlyMap<string, FieldRule>;
}

interface FieldRule {
  readonly field: RestrictedField;
  readonly action: "forward" | "refuse" | "drop";
  readonly fee: NanoUsd;
  readonly factor: number;
}

/** A request whose fields may all go out. */
export interface AllowedRequest {
  readonly kind: "allowed";
  /** Without what is dropped, and with the surcharge of fields that may change model, terms or price. */
  readonly request: ChatRequest;
  /** The first field forwarded that names a free model or open terms: a sensitive request must not have it. */
  readonly freeTerms?: string | undefined;
}

export function fieldRulesOf({ upstream }: Pick<Policy, "upstream">): FieldRules {
  const refuse = Object.fromEntries(Object.keys(restrictedFields).map((name) => [name, "refuse" as const]));
  const byName = new Map(
    Object.entries({ ...refuse, ...upstream.fields }).map(([name, rule]): [string, FieldRule] => {
      const { action, fee_usd, price_factor } =
        typeof rule === "string" ? { action: rule, fee_usd: 0, price_factor: 1 } : rule;
      const field = (Object.hasOwn(restrictedFields, name) ? restrictedFields[name] : undefined) ?? customField;
      const fee = usdToNano(fee_usd);
      // The schema admits 0 to a million dollars, all of which can be held.
      if (fee === undefined) throw new RangeError(`not an amount in USD: ${fee_usd}`);
      return [name, { field, action, fee, factor: price_factor }];
    }),
  );
  const refused: FieldRule = { field: customField, action: "refuse", fee: zeroUsd, factor: 1 };
  const byFoldedName = new Map<string, FieldRule>();
  for (const name of boundingFields) byFoldedName.set(foldName(name), refused);
  for (const [name, rule] of byName) byFoldedName.set(foldName(name), { ...rule, field: customField });
  return { byName, byFoldedName };
}

/** A field of the table that may not go out, and where in its value: `tools[2]`, `provider.data_collection`. */
export interface RefusedField {
  readonly kind: "refused";
  readonly field: string;
  readonly param: string;
}

/** One look at the keys of a body, nearly always all of it harmless. */
export function checkFields(request: ChatRequest, rules: FieldRules): AllowedRequest | RefusedField {
  const { body } = request;
  let found: Found[] | undefined;
  for (const name in body) {
    const rule = rules.byName.get(name) ?? ruleOfOtherSpelling(name, rules);
    if (rule === undefined) continue;
    const value = body[name] ?? null;
    const harmless = value === null ? null : rule.field.harmless(value);
    if (harmless === value) continue;
    if (rule.action === "refuse")
      return { kind: "refused", field: name, param: `${name}${harmfulPath(rule.field, value)}` };
    found ??= [];
    found.push({ name, rule, harmless });
  }
  return found === undefined ? { kind: "allowed", request } : allowed(request, found);
}

/**
 * Some servers take a field in any spelling for the field (Go's JSON reader above all): there, `MAX_TOKENS` behind
 * `max_tokens` is the limit that counts, and `Model` the model.
 */
function ruleOfOtherSpelling(name: string, { byFoldedName }: FieldRules): FieldRule | undefined {
  if (boundingFields.has(name)) return undefined;
  return byFoldedName.get(foldName(name));
}

interface Found {
  readonly name: string;
  readonly rule: FieldRule;
  /** What of its value may go out. */
  readonly harmless: Json | undefined;
}

function allowed(request: ChatRequest, found: readonly Found[]): AllowedRequest {
  const forwarded = found.filter(({ rule }) => rule.action === "forward");
  const body = { ...request.body };
  for (const { name, rule, harmless } of found) {
    if (rule.action !== "drop") continue;
    if (harmless === undefined) delete body[name];
    else body[name] = harmless;
  }
  return {
    kind: "allowed",
    request: { ...request, body, ...(forwarded.length > 0 && { surcharge: surchargeOf(forwarded) }) },
    freeTerms: forwarded.find(({ name }) => namesFreeTerms({ [name]: body[name] ?? null }))?.name,
  };
}

function surchargeOf(forwarded: readonly Found[]): Surcharge {
  let fee = 0;
  let factor = 1;
  for (const { rule } of forwarded) {
    fee += rule.fee;
    factor *= rule.factor;
  }
  // Each fee is at most a million dollars, and there are some dozens of fields: far from what a number can hold … but
  // for a policy that means it; then the hold is beyond any cap, as it should be.
  return {
    fee: Math.min(fee, Number.MAX_SAFE_INTEGER) as NanoUsd, // a sum of amounts, and bounded
    factor,
    fields: forwarded.map(({ name }) => name),
  };
}
