import { createHmac, randomBytes } from 'node:crypto'
import type { Knex } from 'knex'
import { addressGroup } from '#core/account/address.ts'
import { findKnownMarks, recordMarks } from '#core/account/known-device-store.ts'

/** Devices and addresses of one user: enough for a family, for years. */
const MARKS_MAX = 50
const SECRET_BYTES = 32
const TOKEN = /^dev_[\w-]{43}$/

/** What a client sends beside its password. */
export interface ClientDevice {
  address: string
  /** The device token from an earlier sign-in; null when the client sends none. */
  device: string | null
}

/** Which parts of it are recorded for the user. */
export interface KnownParts {
  /** Names the device if it is recorded; contains nothing of its secret. */
  device: string | null
  address: boolean
}

/** Records from which addresses and devices users have signed in before. */
export class KnownDevices {
  readonly #database: Knex
  readonly #key: Buffer

  /** @param options.key secret of this server; at least 32 bytes */
  constructor({ database, key }: { database: Knex; key: Uint8Array }) {
    this.#database = database
    this.#key = createHmac('sha256', key).update('known devices').digest()
  }

  /** @param userId null for a user who does not exist, which takes as long */
  async find(userId: string | null, { address, device }: ClientDevice): Promise<KnownParts> {
    const client = device !== null && TOKEN.test(device) ? this.#mark('device', device) : null
    const marks = [this.#markOfAddress(address), ...(client ? [client] : [])]
    const [isAddress = false, isDevice = false] = await findKnownMarks(this.#database, userId, marks)
    return { address: isAddress, device: client !== null && isDevice ? client.toString('base64url') : null }
  }

  /** Call after a correct password. @returns the device token for the next time: the present one, if it is recorded */
  async record(userId: string, { address, device }: ClientDevice, known: KnownParts): Promise<string> {
    const token = known.device !== null && device !== null ? device : `dev_${randomBytes(SECRET_BYTES).toString('base64url')}`
    await recordMarks(this.#database, userId, [this.#markOfAddress(address), this.#mark('device', token)], MARKS_MAX)
    return token
  }

  /** Records the address alone, for a client that keeps no cookies. */
  async recordAddress(userId: string, address: string): Promise<void> {
    await recordMarks(this.#database, userId, [this.#markOfAddress(address)], MARKS_MAX)
  }

  #markOfAddress(address: string): Buffer {
    return this.#mark('address', addressGroup(address))
  }

  #mark(kind: 'address' | 'device', text: string): Buffer {
    return createHmac('sha256', this.#key).update(`${kind} ${text}`).digest()
  }
}
