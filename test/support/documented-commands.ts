import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Test } from 'tap'
import { openPlugins } from '#api/compose-plugins.ts'
import { PERMISSIONS } from '#core/account/permission.ts'
import { credentialKeys, makeDataFolder } from '#core/database/data-folder.ts'
import { openExports } from '#core/exports/series-exports.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { openEgress } from '#plugins/network/egress.ts'
import { root } from '#test/support/carrel-process.ts'
import { commandsOf, succeeds } from '#test/support/plugin-kit.ts'
import { type Files, openRepositoryServer } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { openTestServer } from '#test/support/server.ts'
import { findRules, findSupervisor } from '#test/support/supervisor.ts'

/** What an answer is: JSON where it is any, else the text itself. */
function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * The server with all that plugins need, and a shell in which the commands of a page are typed as they stand there. Whatever lies outside the house
 * is `files`, by path.
 */
export async function openDocumentedServer(t: Test, page: string, files: Files = {}) {
  const folder = t.testdir()
  const dataFolder = await makeDataFolder(path.join(folder, 'data'))
  const plugins = { enabled: true, isolation: 'strict', hardened: false, allowLocal: [], secretKeys: [] } as const
  const server = await openTestServer(t, { settings: { dataFolder, plugins } })
  const { database, services, adminToken } = server
  // The file with the key is there as soon as a server has been started.
  await credentialKeys(services.settings)
  const { way } = await openRepositoryServer(t, files)
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const exports = await openExports({ database, tasks, dataFolder, log: silentLog })
  const opened = await openPlugins({
    ...{ settings: services.settings, log: silentLog, database, tasks, egress: openEgress(way) },
    ...{ supervisor: findSupervisor(), rules: findRules() },
    drawCover: async () => ({ refused: 'kind' }),
  })
  await tasks.start()
  t.teardown(async () => {
    await tasks.stop()
    await opened.close()
    await exports.close()
  })
  Object.assign(services, { tasks, exports, ...opened.services })

  const keyOf = async (token: string, permissions: readonly string[]) => {
    const made = await server.request<{ key: string }>('POST', '/api/v1/api-keys', { token, body: { name: 'docs', permissions } })
    return made.json.key
  }
  const adminKey = await keyOf(adminToken, PERMISSIONS)
  const { connectionString } = database.client.config.connection() as { connectionString: string }
  const program = path.join(root, 'api', 'main.ts')
  /** `npm start` says how it was called and starts nothing: the server runs already. */
  const PRELUDE = `
    curl() { command curl --silent --show-error --fail-with-body "$@"; }
    npm() {
      if [ "$1" = start ]; then shift; [ "$1" = -- ] && shift; node -e 'console.log(JSON.stringify({ words: process.argv.slice(1), key: process.env.CARREL_SECRET_KEY }))' -- "$@"
      else shift 3; DATABASE_URL='${connectionString}' node '${program}' "$@" --data-dir data; fi
    }`
  const typed = new Set<string>()

  /** Types the commands below a heading, in their order. Answers what each said, which has to match what is expected of it. */
  async function type(heading: string, variables: Record<string, string>, expected: readonly unknown[], from = page): Promise<unknown[]> {
    const commands = await commandsOf(from, heading)
    t.equal(commands.length, expected.length, `${heading}: something is expected of every command`)
    const answers: unknown[] = []
    const given = { URL: server.url, KEY: adminKey, ...variables }
    const set = Object.entries(given).map(([name, value]) => `${name}='${value}'`)
    for (const [index, command] of commands.entries()) {
      typed.add(command)
      const answer = read(await succeeds('bash', ['-c', [PRELUDE, ...set, command].join('\n')], folder))
      t.match(answer, expected[index], `${heading}: ${command}`)
      answers.push(answer)
    }
    return answers
  }

  /** Every command of the page has been typed. */
  async function checkComplete(): Promise<void> {
    const headings = [...(await readFile(path.join(root, page), 'utf8')).matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading)
    const all = (await Promise.all(headings.map((heading) => commandsOf(page, heading)))).flat()
    t.same(
      all.filter((command) => !typed.has(command)),
      [],
      'every command was tried',
    )
    const blocks = (await readFile(path.join(root, page), 'utf8')).match(/^```sh$/gm) ?? []
    t.ok(all.length >= blocks.length, 'none stands where no heading says what it is for')
  }

  /** Installed and agreed to; answers its id. */
  const install = async (main: string, manifest: Record<string, unknown>) => {
    const { plugin, sha256 } = await opened.services.plugins.install(pluginOf(main, manifest), { userId: null })
    await opened.services.plugins.consent(plugin.id, { sha256 })
    return plugin.id
  }
  return { ...server, folder, tasks, keyOf, adminKey, type, checkComplete, install }
}
