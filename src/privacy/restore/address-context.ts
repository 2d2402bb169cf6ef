/**
 * Whether the end of a text lies in an address: what is put there is sent to whoever owns the address, as soon as
 * somebody follows the link or loads the image. Errs on the side of "yes". Reads a text wherever it is cut, and keeps a
 * few characters of it.
 */
export class AddressContext {
  /** The run of characters without white space that the text ends in holds an address. */
  #inAddress = false;
  /** The end of that run. */
  #tail = "";
  /** Between `](` and its `)`, where an address may stand in angle brackets with spaces. */
  #inLink = false;
  #tag: "none" | "name" | "attributes" = "none";
  /** The quote around an attribute's value; "" outside. */
  #quote = "";
  /** The last character that is no white space. */
  #lastNonBlank = "";

  get inAddress(): boolean {
    return this.#inAddress || this.#inLink;
  }

  push(text: string): void {
    for (const character of text) this.#read(character);
  }

  #read(character: string): void {
    if (whitespace.has(character)) {
      // An attribute may hold white space, and line ends, which browsers leave out of addresses.
      if (this.#tag === "name") this.#tag = "attributes";
      if (this.#tag === "none") this.#inAddress = false;
      if (character === "\n") this.#inLink = false;
      this.#tail = "";
      return;
    }
    this.#readMarkup(character);
    this.#inAddress ||= beginsAddress(this.#tail, character);
    const tail = this.#tail + character;
    this.#tail = tail.length > maxTailLength ? tail.slice(-minTailLength) : tail;
    this.#lastNonBlank = character;
  }

  #readMarkup(character: string): void {
    if (this.#tag === "attributes") {
      if (this.#quote !== "") {
        if (character === this.#quote) this.#quote = "";
      } else if (character === ">") {
        this.#tag = "none";
      } else if ((character === '"' || character === "'") && this.#lastNonBlank === "=") {
        this.#quote = character;
      }
    } else if (character === "<") {
      this.#tag = this.#inLink ? "attributes" : "name";
      this.#inAddress ||= this.#inLink;
    } else if (this.#tag === "name") {
      if (character === "/" && this.#lastNonBlank !== "<") this.#tag = "attributes";
      else if (!nameCharacter.test(character)) this.#tag = "none";
    }
    if (character === "(" && this.#tail.endsWith("]")) this.#inLink = true;
    else if (character === ")") this.#inLink = false;
  }
}

/** What ends an address in Markdown and in plain text. */
const whitespace: ReadonlySet<string> = new Set([" ", "\t", "\n", "\r", "\f", "\v"]);
const nameCharacter = /[A-Za-z0-9:-]/;
/** Longer than a label of a host name, so that the last one is seen whole. */
const minTailLength = 80;
const maxTailLength = 2 * minTailLength;

/** Whether an address has begun with a character, as what stands before it shows. */
function beginsAddress(before: string, character: string): boolean {
  switch (character) {
    case "/":
      // Two slashes of either kind: browsers take one for the other.
      return before.endsWith("/") || before.endsWith("\\") || endsInHost(before);
    case "\\":
      return before.endsWith("/") || before.endsWith("\\");
    case "?":
    case "#":
      return endsInHost(before);
    case ":":
      return scheme.test(before.slice(-maxSchemeLength));
    case ".":
      return /www$/i.test(before.slice(-3));
    case ";":
      // A character reference may stand for any of these.
      return /&#?[A-Za-z0-9]{1,31}$/.test(before.slice(-maxReferenceLength));
    case "@":
      return before !== "" && !before.endsWith("@");
    default:
      return false;
  }
}

const scheme =
  /(?:https?|wss?|s?ftps?|ssh|git|file|mailto|data|javascript|vbscript|blob|tel|sms|xmpp|magnet|intent|vscode|slack)$/i;
const maxSchemeLength = 10;
const maxReferenceLength = 33;

/** `db.example.com`, `example.com:8080`. */
function endsInHost(text: string): boolean {
  const dot = text.lastIndexOf(".");
  if (dot < 1 || !/^\p{L}[\p{L}\p{N}-]+(?::[0-9]{1,5})?$/u.test(text.slice(dot + 1))) return false;
  return /[\p{L}\p{N}-]$/u.test(text.slice(Math.max(0, dot - 2), dot));
}
