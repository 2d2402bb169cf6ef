import { createCipheriv, randomBytes } from "node:crypto";
import { hashInput, sipHash } from "./sip-hash.ts";

/** Stands for a text: 16 characters, one for each byte. Equal texts have equal tags as long as the process runs. */
export type TextTag = string & { readonly textTag: unique symbol };

/** Read by its JavaScript string: a byte for each character of ASCII text, UTF-8 for most others, else two bytes for each. */
const asciiNonce = Buffer.alloc(12, 1);
const utf16Nonce = Buffer.alloc(12, 2);
/** Read by its bytes. */
const bytesNonce = Buffer.alloc(12, 3);
const utf8Nonce = Buffer.alloc(12, 4);

/** Up to so many characters SipHash takes less time than creating a cipher does. */
const longestHashed = 1_024;
/** The first byte that is hashed says how the text behind it is encoded. */
const isAsciiText = 1;
const isUtf16Text = 2;

/** Longer texts get a buffer of their own, whose pages the system has to clear first. */
const longestSharedBuffer = 393_216;
const usualSharedBuffer = 65_536;
/** Where there may be less room than a text can take, the runtime counts its bytes first. */
const maxUtf8Bytes = 3;
const encoder = new TextEncoder();
/** U+FFFD. */
const replacementCharacter = Buffer.from("\ufffd");
const firstOfReplacement = 0xef;

/**
 * Tags of texts under random keys. The tag of a short text is its SipHash-2-4 of 128 bits, that of a longer one GMAC (AES-128-GCM over
 * nothing but associated data). GHASH is a universal hash: for two different texts of at most n blocks of 16 bytes, chosen
 * without knowledge of the key, the probability of equal tags is n / 2^128. The nonces are constant, which would reveal the hash key
 * to anyone who sees tags: they must not leave this process, not even in a log.
 */
export class TextTags {
  readonly #key = randomBytes(16);
  readonly #hashKey = new Uint32Array(new Uint8Array(randomBytes(16)).buffer);
  #buffer = Buffer.alloc(0);

  ofText(text: string): TextTag {
    const { length } = text;
    if (length <= longestHashed) return this.#hash(text);
    return this.#tagOfUtf8(text) ?? this.#tagOfUtf16(text);
  }

  /** Undefined for very long texts, and where something may have no bytes of its own in UTF-8: half of a character is written as U+FFFD. */
  #tagOfUtf8(text: string): TextTag | undefined {
    const { length } = text;
    if (length > longestSharedBuffer) return undefined;
    const buffer = this.#bufferOf(Math.min(maxUtf8Bytes * length, longestSharedBuffer));
    const { read, written } = encoder.encodeInto(text, buffer);
    if (read !== length) return undefined;
    const bytes = buffer.subarray(0, written);
    if (written === length) return this.#tag(asciiNonce, bytes);
    // A search for one byte takes less time, and few texts hold it.
    const mayHold = bytes.indexOf(firstOfReplacement) >= 0 && bytes.indexOf(replacementCharacter) >= 0;
    return mayHold ? undefined : this.#tag(utf8Nonce, bytes);
  }

  /** Exact for every text. */
  #tagOfUtf16(text: string): TextTag {
    const isAscii = Buffer.byteLength(text) === text.length;
    const size = isAscii ? text.length : 2 * text.length;
    const buffer = this.#bufferOf(size);
    const written = buffer.write(text, 0, isAscii ? "latin1" : "utf16le");
    if (written !== size) throw new Error("unreachable: the buffer holds the whole text");
    return this.#tag(isAscii ? asciiNonce : utf16Nonce, buffer.subarray(0, size));
  }

  #hash(text: string): TextTag {
    // There is room for all of its UTF-8, and only ASCII has no more bytes than characters.
    let size = hashInput.write(text, 1, "utf8");
    const isAscii = size === text.length;
    if (!isAscii) size = hashInput.write(text, 1, "utf16le");
    hashInput[0] = isAscii ? isAsciiText : isUtf16Text;
    return sipHash(this.#hashKey, 1 + size) as TextTag; // as `#tag` makes it
  }

  ofBytes(bytes: Uint8Array): TextTag {
    return this.#tag(bytesNonce, bytes);
  }

  #tag(nonce: Uint8Array, bytes: Uint8Array): TextTag {
    const gmac = createCipheriv("aes-128-gcm", this.#key, nonce);
    gmac.setAAD(bytes);
    gmac.final();
    return gmac.getAuthTag().toString("latin1") as TextTag; // the only constructor of the branded type
  }

  #bufferOf(size: number): Buffer {
    if (size > longestSharedBuffer) return Buffer.allocUnsafe(size);
    if (this.#buffer.length < size)
      this.#buffer = Buffer.alloc(size > usualSharedBuffer ? longestSharedBuffer : usualSharedBuffer);
    return this.#buffer;
  }
}
