import { createCipheriv, randomBytes } from "node:crypto";

/** Stands for a text: 16 characters, one for each byte. Equal texts have equal tags as long as the process runs. */
export type TextTag = string & { readonly textTag: unique symbol };

/** Read by its JavaScript string: a byte for each character of ASCII text, two for each of any other. */
const asciiNonce = Buffer.alloc(12, 1);
const utf16Nonce = Buffer.alloc(12, 2);
/** Read by its bytes. */
const bytesNonce = Buffer.alloc(12, 3);

/** Up to so many bytes SHA-256 takes less time than creating a cipher does. */
const longestHashed = 1_024;
const secretBytes = 32;
const tagBytes = 16;

/** Longer texts get a buffer of their own, whose pages the system has to clear first. */
const longestSharedBuffer = 262_144;
const usualSharedBuffer = 65_536;

/**
 * Tags of texts under random keys. The tag of a short text is SHA-256 over a key and the text, that of a longer one GMAC (AES-128-GCM
 * over nothing but associated data). GHASH is a universal hash: for two different texts of at most n blocks of 16 bytes, chosen
 * without knowledge of the key, the probability of equal tags is n / 2^128. The nonces are constant, which would reveal the hash key
 * to anyone who sees tags: they must not leave this process, not even in a log.
 */
export class TextTags {
  readonly #key = randomBytes(16);
  /** The key of SHA-256, the encoding of the text, and the text. */
  readonly #hashed = Buffer.concat([randomBytes(secretBytes), Buffer.alloc(1 + longestHashed)]);
  readonly #digest = Buffer.alloc(32);
  #buffer = Buffer.alloc(0);

  ofText(text: string): TextTag {
    const { length } = text;
    const isAscii = Buffer.byteLength(text) === length;
    const size = isAscii ? length : 2 * length;
    if (size <= longestHashed) return this.#hash(text, isAscii, size);
    const buffer = this.#bufferOf(size);
    // Exact for lone surrogates too, which UTF-8 has no bytes for.
    const written = buffer.write(text, 0, isAscii ? "latin1" : "utf16le");
    if (written !== size) throw new Error("unreachable: the buffer holds the whole text");
    return this.#tag(isAscii ? asciiNonce : utf16Nonce, buffer.subarray(0, size));
  }

  #hash(text: string, isAscii: boolean, size: number): TextTag {
    this.#hashed[secretBytes] = isAscii ? 1 : 2;
    const end = secretBytes + 1 + size;
    if (this.#hashed.write(text, secretBytes + 1, isAscii ? "latin1" : "utf16le") !== size)
      throw new Error("unreachable: the buffer holds the whole text");
    Bun.SHA256.hash(this.#hashed.subarray(0, end), this.#digest);
    return this.#digest.toString("latin1", 0, tagBytes) as TextTag; // as `#tag` makes it
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
