import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { publicKeyText } from '#plugins/packages/plugin-package.ts'
import { readZip, writeZip } from '#plugins/packages/zip.ts'

export const INTEGRITY = 'META/integrity.json'
export const SIGNATURE = 'META/signature.json'
const ANY_SIZE = 20 * 1024 * 1024

export type PackageFiles = Map<string, Buffer>
export const unpacked = (bytes: Buffer): PackageFiles => new Map(readZip(bytes, () => ANY_SIZE).map(({ name, data }) => [name, data]))
export const packed = (files: PackageFiles): Buffer => writeZip([...files].map(([name, data]) => ({ name, data })))

/** A key that is the same in every run. */
export const keyOf = (number: number): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, number)]),
    format: 'der',
    type: 'pkcs8',
  })

type List = Record<string, unknown>

/** The package with another list of files, correctly signed with these keys, whatever the list says. */
export function resigned(bytes: Buffer, keys: readonly KeyObject[], change: (list: List) => List = (list) => list): Buffer {
  const files = unpacked(bytes)
  const listed = Buffer.from(JSON.stringify(change(JSON.parse(String(files.get(INTEGRITY))) as List)))
  files.set(INTEGRITY, listed)
  const signatures = keys.map((key) => ({ publicKey: publicKeyText(key), signature: sign(null, listed, key).toString('base64') }))
  files.delete(SIGNATURE)
  if (keys.length > 0) files.set(SIGNATURE, Buffer.from(JSON.stringify(signatures)))
  return packed(files)
}

/** The list as earlier tools made it: it does not say who signs. */
export const asFormat1 = ({ signers: _, nextSigners: _next, ...list }: List): List => ({ ...list, format: 1 })
