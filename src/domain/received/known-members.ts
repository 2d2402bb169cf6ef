import type { Json } from "#domain/chat.ts";

/** What stands for the bytes of each member that is known. */
const identities = new WeakMap<object, object>();

/**
 * What stands for a member of a body (its `tools`) that is known by its bytes: the same object for the same bytes, while these are remembered.
 * Undefined where `setKnownMember` was not called.
 */
export function knownMemberOf(value: Json | undefined): object | undefined {
  return typeof value === "object" && value !== null ? identities.get(value) : undefined;
}

export function setKnownMember(value: Json[], identity: object): void {
  identities.set(value, identity);
}

/** A known array. It is like any other, but parsed when it is first looked at. */
export function lazyMember(identity: object, parse: () => Json[]): Json[] {
  const target: Json[] = [];
  let isParsed = false;
  const parsed = () => {
    if (!isParsed) for (const item of parse()) target.push(item);
    isParsed = true;
    return target;
  };
  const value = new Proxy(target, {
    get: (_, key, receiver) => Reflect.get(parsed(), key, receiver),
    has: (_, key) => Reflect.has(parsed(), key),
    ownKeys: () => Reflect.ownKeys(parsed()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(parsed(), key),
  });
  setKnownMember(value, identity);
  return value;
}
