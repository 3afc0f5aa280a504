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
export interface KnownDevices {
  /** @param userId null for a user who does not exist, which takes as long */
  find(userId: string | null, client: ClientDevice): Promise<KnownParts>
  /** Call after a correct password. @returns the device token for the next time: the present one, if it is recorded */
  record(userId: string, client: ClientDevice, known: KnownParts): Promise<string>
  /** Records the address alone, for a client that keeps no cookies. */
  recordAddress(userId: string, address: string): Promise<void>
}

/** @param key secret of this server; at least 32 bytes */
export function openKnownDevices({ database, key }: { database: Knex; key: Uint8Array }): KnownDevices {
  const own = createHmac('sha256', key).update('known devices').digest()
  const mark = (kind: 'address' | 'device', text: string) => createHmac('sha256', own).update(`${kind} ${text}`).digest()
  const markOfAddress = (address: string) => mark('address', addressGroup(address))

  return {
    async find(userId, { address, device }) {
      const client = device !== null && TOKEN.test(device) ? mark('device', device) : null
      const [isAddress = false, isDevice = false] = await findKnownMarks(database, userId, [
        markOfAddress(address),
        ...(client ? [client] : []),
      ])
      return { address: isAddress, device: client !== null && isDevice ? client.toString('base64url') : null }
    },
    async record(userId, { address, device }, known) {
      const token = known.device !== null && device !== null ? device : `dev_${randomBytes(SECRET_BYTES).toString('base64url')}`
      await recordMarks(database, userId, [markOfAddress(address), mark('device', token)], MARKS_MAX)
      return token
    },
    recordAddress: (userId, address) => recordMarks(database, userId, [markOfAddress(address)], MARKS_MAX),
  }
}
