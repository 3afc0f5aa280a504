import { hash } from 'node:crypto'

/** Ids, most paths, and sign-in tokens with their 300 characters are shorter: hashing one with every request takes as long as a tenth of a small answer. */
export const KEY_LENGTH_MAX = 400
const HASHED = '#'

/** A key of at most 400 characters, equal for two texts only if they are equal: a longer text is replaced by its hash, as is one that looks like a hash. */
export const shortKey = (text: string): string =>
  text.length <= KEY_LENGTH_MAX && !text.startsWith(HASHED) ? text : HASHED + hash('sha256', text, 'base64url')

/** A key to keep. Copied, because V8 keeps the whole text of a request for a part of it. */
export const keptKey = (text: string): string => Buffer.from(shortKey(text), 'utf16le').toString('utf16le')

/**
 * A map of what is going on, or of a few things by their names, that outlives a call. Its keys are short as well: what is not finished is limited by number
 * only. Iterating it yields these keys.
 */
export class Register<V> extends Map<string, V> {
  override get(key: string): V | undefined {
    return super.get(shortKey(key))
  }

  override has(key: string): boolean {
    return super.has(shortKey(key))
  }

  override set(key: string, value: V): this {
    return super.set(keptKey(key), value)
  }

  override delete(key: string): boolean {
    return super.delete(shortKey(key))
  }
}
