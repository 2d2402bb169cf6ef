/**
 * The same fields, to be assigned one by one while an object is made: `...(condition ? { … } : {})` makes two objects
 * for each field that may be absent.
 */
export type Writable<T> = { -readonly [name in keyof T]: T[name] };
