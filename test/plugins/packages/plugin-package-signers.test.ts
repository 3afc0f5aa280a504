import type { KeyObject } from 'node:crypto'
import t from 'tap'
import { packPlugin, publicKeyText, readPackage } from '#plugins/packages/plugin-package.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { asFormat1, keyOf, packed, resigned, SIGNATURE, unpacked } from '#test/support/signed-packages.ts'

const [AUTHOR, STRANGER] = [keyOf(1), keyOf(2)]
const [author, stranger] = [publicKeyText(AUTHOR), publicKeyText(STRANGER)]
const SIGNED = pluginOf('export default 1', {}, [AUTHOR])
const refused = (message: RegExp) => ({ code: 'invalid_value', message })

const pack = (keys: readonly KeyObject[], next?: readonly string[]) => {
  const files = new Map([...unpacked(SIGNED)].filter(([name]) => !name.startsWith('META/')))
  return packPlugin(files, keys, next)
}

t.test('a signature that somebody adds or removes is refused', async (t) => {
  const named = refused(/is signed with SHA256:[0-9a-f]{64}, which META\/integrity\.json does not name: somebody added/)
  t.throws(() => readPackage(resigned(SIGNED, [AUTHOR, STRANGER])), named)
  t.throws(() => readPackage(resigned(pack([]), [STRANGER])), named, 'to a package that is not signed')
  const both = { signers: [author, stranger], nextSigners: [stranger] }
  const list = (one: Record<string, unknown>) => ({ ...one, ...both })
  t.throws(() => readPackage(resigned(SIGNED, [STRANGER], list)), refused(/signature with SHA256:\S+ is missing/))
  t.throws(() => readPackage(resigned(SIGNED, [], list)), refused(/signature with SHA256:\S+ is missing/))
  t.match(
    readPackage(resigned(SIGNED, [STRANGER, AUTHOR], list)),
    { signedBy: both.signers, nextSigners: [stranger] },
    'the order of the signatures has no meaning',
  )
  const files = unpacked(SIGNED)
  files.set(SIGNATURE, unpacked(pluginOf('export default 2', {}, [AUTHOR])).get(SIGNATURE) as Buffer)
  t.throws(() => readPackage(packed(files)), refused(/is invalid/), 'the signature of another package')
})

t.test('the keys that may sign the next version stand in the signed list', async (t) => {
  t.match(readPackage(pack([AUTHOR])), { signedBy: [author], nextSigners: [author] })
  t.match(readPackage(pack([AUTHOR], [stranger])), { signedBy: [author], nextSigners: [stranger] })
  t.throws(() => pack([AUTHOR], []), refused(/must name the keys that sign the next version/))
  t.throws(() => pack([], [stranger]), refused(/must name the keys that sign the next version/))
  t.throws(() => pack([AUTHOR], [author, author]), refused(/names a key twice/))
  const weak = Buffer.from('01'.padEnd(64, '0'), 'hex').toString('base64')
  t.throws(() => pack([AUTHOR], [weak]), refused(/a weak key for which anybody can sign/))
  for (const next of ['', 'x', `${stranger}\n`]) t.throws(() => pack([AUTHOR], [next]), refused(/not an Ed25519 key/))
  const five = [1, 2, 3, 4, 5].map(keyOf)
  t.throws(() => pack([AUTHOR], five.map(publicKeyText)), refused(/names 1 to 4 keys/))
})

t.test('a package of format 1 is read, and does not say who may follow', async (t) => {
  t.match(readPackage(resigned(SIGNED, [AUTHOR], asFormat1)), { signedBy: [author], nextSigners: null })
  t.match(readPackage(resigned(SIGNED, [AUTHOR, STRANGER], asFormat1)), { signedBy: [author, stranger], nextSigners: null })
  t.match(readPackage(resigned(SIGNED, [], asFormat1)), { signedBy: [], nextSigners: null })
  for (const format of [0, 3, '2', null])
    t.throws(() => readPackage(resigned(SIGNED, [AUTHOR], (list) => ({ ...list, format }))), refused(/format 2 or 1/))
})
