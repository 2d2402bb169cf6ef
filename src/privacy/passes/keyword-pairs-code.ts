import { br, type Code, i32, loop, returns, type Variables, wasmModule, when } from "#platform/wasm/assembler.ts";

/** Where the tables of the search are in its memory. A flag is 4, the bytes that an entry of the list takes, or 0. */
export interface PairTables {
  /** By pair: whether something may begin at it. */
  readonly flags: number;
  /** By pair: its group. */
  readonly groups: number;
  /** By group and byte: whether something may begin with the byte behind the pair, or with the byte before it. */
  readonly behind: number;
  readonly before: number;
}

const pairsPerStep = 4;

/**
 * Lists the addresses of pairs of bytes from `at` to `end` at which something may begin. Each address is written to the list, whose end then
 * moves by 4 or 0: which pairs begin something cannot be foretold, and a wrong guess costs more than the rest.
 * @returns where the list ends
 */
export const collectPairsCode = (tables: PairTables) =>
  wasmModule({
    name: "collectPairs",
    parameters: ["at", "end", "list"],
    i32: ["known", "next", "group"],
    v128: [],
    body: (variables) => {
      const { get, set, add } = variables;
      const steps: Code[] = [];
      for (let offset = 0; offset < 2 * pairsPerStep; offset += 2) {
        steps.push(
          i32.store(get("known"), i32.add(get("at"), i32.const(offset))),
          set("known", i32.add(get("known"), i32.load8(i32.load16(get("at"), offset), tables.flags))),
        );
      }
      return [
        set("known", get("list")),
        loop("pairs", ...steps, add("at", 2 * pairsPerStep), when(i32.isLess(get("at"), get("end")), br("pairs"))),
        set("next", get("list")),
        loop("known", ...keepPossible(variables, tables)),
        get("list"),
      ];
    },
  });

/** Keeps of the pairs in the list those whose neighbours allow for it. */
function keepPossible({ get, set, add }: Variables, tables: PairTables): readonly Code[] {
  const inGroup = (neighbour: Code) => i32.or(get("group"), neighbour);
  const flag = i32.or(
    i32.load8(inGroup(i32.load8(get("at"), 2)), tables.behind),
    i32.load8(inGroup(i32.load8(i32.subtract(get("at"), i32.const(1)))), tables.before),
  );
  return [
    when(i32.isAtLeast(get("next"), get("known")), returns(get("list"))),
    set("at", i32.load(get("next"))),
    set("group", i32.shiftLeft(i32.load8(i32.load16(get("at")), tables.groups), 8)),
    i32.store(get("list"), get("at")),
    set("list", i32.add(get("list"), flag)),
    add("next", 4),
    br("known"),
  ];
}
