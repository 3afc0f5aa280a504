import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import type { ToolInput } from '#plugins/devkit/command.ts'
import { readTarget } from '#plugins/devkit/dev-target.ts'
import { createKey } from '#plugins/devkit/signing.ts'

t.test('the server of dev comes from flags, the environment or a file in the folder, in this order', async (t) => {
  const folder = t.testdir({ 'config.json': '{"site":"https://a.example.org"}', 'list.json': '[]' })
  const read = (flags: Record<string, string> = {}, env: NodeJS.ProcessEnv = {}) =>
    readTarget({ folder, cwd: folder, flag: (name: string) => flags[name] } as unknown as ToolInput, env)
  t.equal(await read(), null)
  await t.rejects(read({ token: 'x' }), { message: /--token is for a server, and none is named\. Name it with --server URL/ })
  await t.rejects(read({ server: 'http://127.0.0.1:8080' }), { message: /--token KEY, CARREL_PLUGIN_TOKEN, or "token" in/ })
  await t.rejects(read({ server: 'nowhere', token: 'x' }), { message: /"nowhere" is not a URL/ })
  t.match(await read({ server: 'http://127.0.0.1:8080', token: 'x' }), { url: 'http://127.0.0.1:8080', token: 'x', keys: [] })

  const file = path.join(folder, '.carrel-plugin-server.json')
  await createKey(path.join(folder, 'key.pem'))
  await writeFile(file, JSON.stringify({ server: 'http://127.0.0.1:8081', token: 'stored', keyFile: 'key.pem' }), { mode: 0o644 })
  await t.rejects(read(), { message: /Others may read .*chmod 600/ })
  await chmod(file, 0o600)
  const stored = await read({ config: 'config.json' })
  t.match(stored, { url: 'http://127.0.0.1:8081', token: 'stored', config: { site: 'https://a.example.org' } })
  t.equal(stored?.keys.length, 1)
  t.match(await read({}, { CARREL_PLUGIN_TOKEN: 'of the shell' }), { url: 'http://127.0.0.1:8081', token: 'of the shell' })
  t.match(await read({ token: 'given' }, { CARREL_PLUGIN_TOKEN: 'of the shell' }), { token: 'given' })
  await t.rejects(read({ config: 'list.json' }), { message: /--config: .* must be an object as JSON/ })
  await t.rejects(read({ config: 'none.json' }), { message: /--config: .*none\.json cannot be read \(ENOENT\)/ })

  await writeFile(file, JSON.stringify({ servers: 'http://127.0.0.1:8081' }))
  await t.rejects(read(), { message: /with server, token, keyFile; "servers" is unknown/ })
  await writeFile(file, '{')
  await t.rejects(read(), { message: /must be an object of texts/ })
})
