import { createHash, hkdfSync, randomBytes } from 'node:crypto'
import { KEY_BYTES, NONCE_BYTES, openSealedText, sealText } from '#plugins/credentials/sealed-text.ts'

interface CredentialKey {
  key: Buffer
  id: string
}

/** Encrypts texts for the database. The owner is additional data, so a row that is moved to another owner does not decrypt. */
export class CredentialBox {
  readonly #first: CredentialKey
  readonly #keys: readonly CredentialKey[]

  /** @param secrets at least one, of at least 32 bytes each; the first encrypts, all decrypt */
  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) => {
      // The bits of a configured secret are not evenly distributed, and the id must reveal nothing about it.
      const key = Buffer.from(hkdfSync('sha256', secret, '', 'carrel credentials', KEY_BYTES))
      return { key, id: createHash('sha256').update('carrel credential key id').update(key).digest('hex').slice(0, 16) }
    })
    const [first] = this.#keys
    if (first === undefined) throw new Error('There is no key for the encryption of credentials.')
    this.#first = first
  }

  /** Id of the key that encrypts new texts. */
  get keyId(): string {
    return this.#first.id
  }

  seal(text: string, belongsTo: readonly string[]): Buffer {
    return sealText(text, { key: this.#first.key, nonce: randomBytes(NONCE_BYTES), owner: bytesOf(belongsTo) })
  }

  /** Null when the key is no longer configured, or the text was not encrypted for this owner. */
  open(sealed: Buffer, keyId: string, belongsTo: readonly string[]): string | null {
    const known = this.#keys.find(({ id }) => id === keyId)
    return known === undefined ? null : openSealedText(sealed, { key: known.key, owner: bytesOf(belongsTo) })
  }
}

/** As JSON, so that different lists never have the same bytes. */
const bytesOf = (belongsTo: readonly string[]): Buffer => Buffer.from(JSON.stringify(belongsTo))
