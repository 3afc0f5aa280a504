import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { bundledPlugins } from '#plugins/packages/bundled-plugins.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { withConfirmingFlags } from '#plugins/packages/identity.ts'
import { packPlugin, publicKeyText, readPackage } from '#plugins/packages/plugin-package.ts'
import { openTestHost } from '#test/support/plugin-hosts.ts'
import { manifestOf } from '#test/support/plugins.ts'
import { asFormat1, keyOf, resigned, unpacked } from '#test/support/signed-packages.ts'

t.setTimeout(240_000)

const [AUTHOR, STRANGER, NEXT] = [keyOf(1), keyOf(2), keyOf(3)]
const printOf = (key: KeyObject) => fingerprintOf(publicKeyText(key))
const A = 'https://a.example.org/plugins/'
const B = 'https://b.example.org/plugins/'

const main = (word: string) =>
  `export default { metadata: { series: { search: () => ({ results: [{ externalId: '1', title: '${word}' }] }), get: () => ({ externalId: '1' }) } } }`
const version = (number: string, keys: readonly KeyObject[], next?: readonly KeyObject[], id = 'org.example.echo') =>
  packPlugin(
    new Map([
      ['manifest.json', Buffer.from(JSON.stringify(manifestOf({ version: number, id })))],
      ['main.js', Buffer.from(main(number))],
    ]),
    keys,
    next?.map(publicKeyText),
  )

async function open(t: Test) {
  const { host, database } = await openTestHost(t)
  type More = { repository?: string; trustKey?: string; moveFrom?: string }
  const install = (bytes: Buffer, more: More = {}) => host.pluginLifecycle.install(bytes, { userId: null, ...more })
  const run = async (bytes: Buffer, more: More = {}) => {
    const { plugin, sha256, waitsFor } = await install(bytes, more)
    if (waitsFor.length > 0) await host.pluginLifecycle.consent(plugin.id, { sha256 })
    return plugin.id
  }
  const conflict = (bytes: Buffer, message: RegExp, more: More = {}) =>
    t.rejects(install(bytes, more), { code: 'conflict', message }, message.source)
  return { host, database, install, run, conflict }
}

t.test('a signature that somebody adds to a version does not let them sign the next', async (t) => {
  const { host, install, run, conflict } = await open(t)
  const id = await run(version('1.0.0', [AUTHOR]))
  await t.rejects(install(resigned(version('1.0.1', [AUTHOR]), [AUTHOR, STRANGER])), { code: 'invalid_value', message: /somebody added/ })
  const bytes = resigned(version('1.0.1', [AUTHOR]), [AUTHOR, STRANGER], asFormat1)
  const counted = [publicKeyText(AUTHOR)]
  t.same(await host.plugins.countedSigners(readPackage(bytes)), counted, 'in a review before it is installed')
  const added = await install(bytes)
  t.same([added.waitsFor, added.review.differences, added.review.record.signedBy], [[], [], counted], 'it does not stop the update')
  t.match(await host.plugins.get(id), { version: '1.0.1', signedBy: counted })
  t.same((await host.plugins.review(id)).review.record, added.review.record, 'what is shown is what is stored')
  t.same(added.signature.signedBy, [printOf(AUTHOR)], 'nobody sees the other')
  t.same(added.signature.mayFollow, [printOf(AUTHOR)])
  await conflict(version('1.0.2', [STRANGER]), /is signed with SHA256:\S+\. Since 1\.0\.0 it must be signed with SHA256:/)
  t.match(await install(version('1.0.2', [AUTHOR])), { version: '1.0.2' }, 'the author is not locked out')
})

t.test('a package of format 1 updates only under all keys that it had', async (t) => {
  const { install, conflict } = await open(t)
  const first = await install(resigned(version('1.0.0', [AUTHOR]), [AUTHOR, STRANGER], asFormat1))
  t.match(first.signature.remarks, [/does not name who may follow/])
  await conflict(version('1.0.1', [STRANGER]), /must be signed with SHA256:\S+ and SHA256:/)
  await conflict(resigned(version('1.0.1', [AUTHOR]), [], asFormat1), /not signed.*cannot replace a signed one/)
  const both = await install(version('1.0.1', [AUTHOR, STRANGER], [AUTHOR]))
  t.match(both.signature, { mayFollow: [printOf(AUTHOR)], remarks: [] }, 'now the list names them')
})

t.test('an author changes keys by a version that names the new one', async (t) => {
  const { install, conflict } = await open(t)
  await install(version('1.0.0', [AUTHOR]))
  const named = await install(version('1.1.0', [AUTHOR], [NEXT]))
  t.match(named.signature, { signedBy: [printOf(AUTHOR)], signedBefore: [printOf(AUTHOR)], mayFollow: [printOf(NEXT)] })
  await conflict(version('1.2.0', [AUTHOR]), /Since 1\.1\.0 it must be signed with/)
  t.match(await install(version('1.2.0', [NEXT])), { version: '1.2.0' })
  await install(version('1.1.5', [NEXT], [NEXT, STRANGER]))
  await conflict(version('1.3.0', [STRANGER]), /Since 1\.2\.0 it must be signed with/)
})

t.test('trust names the fingerprint of the key, and accepts no package without a signature', async (t) => {
  const { install, conflict } = await open(t)
  await install(version('1.0.0', [AUTHOR]))
  const other = version('1.1.0', [STRANGER])
  await t.rejects(install(other), {
    message:
      `org.example.echo 1.1.0 is signed with ${printOf(STRANGER)}. Since 1.0.0 it must be signed with ${printOf(AUTHOR)}. ` +
      `If its author tells you in another way that the new key is theirs, confirm the key: query parameter trustKey=${printOf(STRANGER)}.`,
  })
  const said = (origin: object) => install(other, origin).catch(({ message }: Error) => withConfirmingFlags(message))
  for (const origin of [{}, { repository: A }])
    t.match(await said(origin), `the new key is theirs, confirm the key: --trust-key ${printOf(STRANGER)}.`, 'for a command line')
  await conflict(other, /not with SHA256:\S+, which you trust/, { trustKey: printOf(NEXT) })
  for (const unsigned of [version('1.1.0', []), resigned(version('1.1.0', []), [], asFormat1)])
    for (const trustKey of [printOf(AUTHOR), printOf(STRANGER)]) await conflict(unsigned, /is not signed, and not with/, { trustKey })
  const trusted = await install(other, { trustKey: printOf(STRANGER) })
  t.match(trusted.signature, { signedBy: [printOf(STRANGER)], signedBefore: [printOf(AUTHOR)], mayFollow: [printOf(STRANGER)] })
  await conflict(version('1.2.0', [AUTHOR]), /must be signed with/)
  const many = resigned(version('1.2.0', [NEXT]), [NEXT, AUTHOR], asFormat1)
  t.match((await install(many, { trustKey: printOf(NEXT) })).signature, { signedBy: [printOf(NEXT)], mayFollow: [printOf(NEXT)] })
})

t.test('the identity stays after a rollback to an unsigned version, after removal and after adding it again', async (t) => {
  const { host, install, run, conflict } = await open(t)
  const id = await run(version('1.0.0', []))
  const { sha256 } = await host.plugins.get(id)
  await run(version('1.1.0', [AUTHOR]))
  await t.rejects(host.pluginLifecycle.rollBack(id), { code: 'conflict', message: /waits for consent, because it is not signed/ })
  t.match(await host.pluginLifecycle.consent(id, { sha256 }), { version: '1.0.0', signedBy: [] })
  await conflict(version('1.2.0', [STRANGER]), /must be signed with/)
  t.same((await install(version('1.2.0', [AUTHOR]))).waitsFor, [`is signed with ${printOf(AUTHOR)}`], 'and no word on what it was before')
  await conflict(version('1.3.0', []), /cannot replace a signed one/)
  await host.pluginLifecycle.uninstall(id)
  await conflict(version('1.2.0', [STRANGER]), /must be signed with/)
  await conflict(version('1.0.0', []), /cannot replace a signed one/)
  t.match(await install(version('1.2.0', [AUTHOR])), { version: '1.2.0' })
})

t.test('a plugin belongs to the repository that it came from until a person moves it', async (t) => {
  const { install, run, conflict } = await open(t)
  await run(version('1.0.0', [AUTHOR]), { repository: A })
  await conflict(
    version('1.0.1', [AUTHOR]),
    /belongs to https:\/\/a\.example\.org\/plugins\/.*confirm that: "moveFrom": "https:\/\/a\.example\.org\/plugins\/" in the body\.$/,
    { repository: B },
  )
  await conflict(version('1.0.1', [STRANGER]), /must be signed with/, { repository: B, moveFrom: A })
  await conflict(version('1.0.1', [STRANGER]), /"moveFrom": "/, { repository: B, trustKey: printOf(STRANGER) })
  t.match(await install(version('1.0.1', [AUTHOR])), { version: '1.0.1' }, 'a file with the pinned key')
  await conflict(version('1.0.2', [AUTHOR]), /belongs to https:\/\/a/, { repository: B, moveFrom: 'files' })
  t.match(await install(version('1.0.2', [AUTHOR]), { repository: B, moveFrom: A }), { version: '1.0.2' })
  await conflict(version('1.0.3', [AUTHOR]), /belongs to https:\/\/b/, { repository: A })
})

t.test('an unsigned plugin is updated only from where it came', async (t) => {
  const { host, run, install, conflict } = await open(t)
  const id = await run(version('1.0.0', []), { repository: A })
  await conflict(version('1.0.1', []), /belongs to https:\/\/a.*comes from files/)
  await conflict(version('1.0.1', [STRANGER]), /comes from files/)
  await conflict(version('1.0.1', []), /comes from https:\/\/b/, { repository: B })
  await host.pluginLifecycle.uninstall(id)
  await conflict(version('1.0.1', []), /comes from files/)
  t.match((await install(version('1.0.1', []), { repository: A })).signature.remarks, [/is not signed/])
  t.match(await install(version('1.0.2', []), { moveFrom: A }), { version: '1.0.2' })
})

t.test('what a stranger has signed and nobody has consented to takes an unsigned plugin from nobody', async (t) => {
  const from = { repository: A }
  const { host, run, install, conflict } = await open(t)
  const id = await run(version('1.0.0', []), from)
  const waiting = await install(version('1.0.1', [STRANGER]), from)
  t.match(waiting, { plugin: { version: '1.0.0' }, signature: { mayFollow: [printOf(STRANGER)] } })
  t.match(waiting.waitsFor.join(), /signed with/)
  t.match(await install(version('1.0.1', []), from), { waitsFor: [], plugin: { version: '1.0.1', signedBy: [] } }, 'with the same number')
  await t.rejects(host.pluginLifecycle.consent(id, waiting), { code: 'conflict', message: /is not a stored package/ })
  await install(version('99.0.0', [STRANGER]), from)
  t.match(await install(version('1.0.2', []), from), { waitsFor: [], plugin: { version: '1.0.2' } })
  const own = await install(version('1.0.3', [AUTHOR], [NEXT]), from)
  t.match(await install(version('1.0.4', [STRANGER]), from), { plugin: { version: '1.0.2' } })
  await t.rejects(host.pluginLifecycle.consent(id, own), { code: 'conflict' }, 'another was stored since')
  const again = await install(version('1.0.5', [AUTHOR], [NEXT]), from)
  t.match(await host.pluginLifecycle.consent(id, again), { version: '1.0.5' })
  await conflict(version('1.0.6', []), /cannot replace a signed one/, from)
  await conflict(version('1.0.6', [STRANGER]), /Since 1\.0\.5 it must be signed with/, from)
  await conflict(version('1.0.6', [AUTHOR]), /must be signed with/, from)
  t.match(await install(version('1.0.6', [NEXT]), from), { version: '1.0.6' })
})

t.test('what was only tried, and uninstalled without a consent, blocks nobody', async (t) => {
  const { host, run, install, conflict } = await open(t)
  const tried = await install(version('1.0.0', [STRANGER]), { repository: B })
  await conflict(version('1.0.1', [AUTHOR]), /must be signed with/, { repository: A })
  await host.pluginLifecycle.uninstall(tried.plugin.id)
  const id = await run(version('1.0.1', [AUTHOR]), { repository: A })
  await host.pluginLifecycle.uninstall(id)
  await conflict(version('1.0.2', [STRANGER]), /must be signed with/, { repository: A })
  const again = await install(version('1.0.2', [AUTHOR]), { repository: A })
  await host.pluginLifecycle.uninstall(again.plugin.id)
  await conflict(version('1.0.2', [STRANGER]), /must be signed with/, { repository: A })
})

t.test('a version that could not take over decides nothing about later ones', async (t) => {
  const { install, run, conflict } = await open(t)
  await run(version('1.0.0', [AUTHOR]), { repository: A })
  const failing = packPlugin(
    new Map([
      ['manifest.json', Buffer.from(JSON.stringify(manifestOf({ version: '1.1.0' })))],
      ['main.js', Buffer.from(`export default { setup() { throw new Error('never') }, ${main('x').slice('export default {'.length)}`)],
    ]),
    [AUTHOR],
    [publicKeyText(STRANGER)],
  )
  await t.rejects(install(failing, { repository: A }), { code: 'invalid_value' })
  await conflict(version('1.2.0', [STRANGER]), /must be signed with/, { repository: A })
  t.match(await install(version('1.2.0', [AUTHOR]), { repository: A }), { version: '1.2.0' })
})

t.test('a version that fails to start brings no key back that another one, stored meanwhile, no longer names', async (t) => {
  const { install, run, host, conflict } = await open(t)
  const id = await run(version('1.0.0', [AUTHOR]))
  const slow = new Map(unpacked(version('1.0.1', [AUTHOR])))
  for (const name of slow.keys()) if (name.startsWith('META/')) slow.delete(name)
  const code = `export default { async setup(ctx) { await ctx.sleep(4_000); throw new Error('late') }, ${main('1.0.1').slice('export default {'.length)}`
  const failing = install(packPlugin(slow.set('main.js', Buffer.from(code)), [AUTHOR])).catch((error: unknown) => error)
  while ((await host.plugins.versions(id)).length < 2) await sleep(20)
  t.match(await install(version('1.0.2', [AUTHOR], [NEXT])), { version: '1.0.2' })
  t.match(await failing, { code: /invalid_value|conflict/ })
  await conflict(version('1.0.3', [AUTHOR]), /must be signed with/)
  t.match(await install(version('1.0.4', [NEXT])), { version: '1.0.4' })
})

t.test('nobody else can install what has an id of a plugin of the server, or looks like it', async (t) => {
  const { install, host } = await open(t)
  const own = (await bundledPlugins())[0] as Awaited<ReturnType<typeof bundledPlugins>>[number]
  t.match(await install(own.bytes), { plugin: { key: own.key } })
  const files = new Map([...unpacked(own.bytes)].filter(([name]) => !name.startsWith('META/')))
  const manifest = JSON.parse(String(files.get('manifest.json')))
  for (const change of [{ version: '99.0.0' }, { id: 'carrel.other' }, { summary: 'Another' }])
    for (const keys of [[], [STRANGER]]) {
      const bytes = packPlugin(new Map([...files, ['manifest.json', Buffer.from(JSON.stringify({ ...manifest, ...change }))]]), keys)
      await t.rejects(install(bytes, { trustKey: printOf(STRANGER), moveFrom: 'files' }), { code: 'conflict', message: /come(s)? with/ })
    }
  for (const id of [
    'carrel-x.echo',
    'carre1.echo',
    'carrell.echo',
    'carrei.echo',
    'c4rrel.echo',
    'carrel-echo',
    'carrel.echo-2',
    'carre-l.echo',
    'c-arrel.x',
  ])
    await t.rejects(install(version('1.0.0', [AUTHOR], [AUTHOR], id)), { code: 'conflict', message: /come with the server/ }, id)
  for (const id of ['Carrel.echo', 'carr\u0435l.echo', 'ｃarrel.echo'])
    t.throws(() => version('1.0.0', [AUTHOR], [AUTHOR], id), { code: 'invalid_value' }, id)
  t.equal((await host.plugins.list()).length, 1)
})

t.test('a key that signs for two ids, and an id that looks like another, are shown', async (t) => {
  const { install } = await open(t)
  await install(version('1.0.0', [AUTHOR]))
  t.match((await install(version('1.0.0', [AUTHOR], [AUTHOR], 'org.example.other'))).signature.remarks, [/also signs org\.example\.echo\./])
  t.match((await install(version('1.0.0', [NEXT], [NEXT], 'org.examp1e.echo'))).signature.remarks, [/looks like org\.example\.echo/])
  t.same((await install(version('1.0.0', [STRANGER], [STRANGER], 'org.example.third'))).signature.remarks, [])
})
