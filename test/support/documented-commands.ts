import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Test } from 'tap'
import { openPlugins } from '#api/compose-plugins.ts'
import { PERMISSIONS } from '#core/account/permission.ts'
import { credentialKeys, makeDataFolder } from '#core/embedded/data-folder.ts'
import { openExports } from '#core/exports/series-exports.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { root } from '#test/support/carrel-process.ts'
import { type Files, openRepositoryServer } from '#test/support/plugin-repository.ts'
import { pluginOf } from '#test/support/plugins.ts'
import { commandsOf, succeeds } from '#test/support/sdk-install.ts'
import { openTestServer } from '#test/support/server.ts'
import { findRules, findSupervisor } from '#test/support/supervisor.ts'
import { resizePicture } from '#workers/images/image.ts'

/** An answer as JSON if it is valid JSON, else as text. */
function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * The server with everything that plugins need, and a shell that runs the commands of a page as they are written. Services outside the server are
 * replaced by `files`, by path.
 */
export async function openDocumentedServer(t: Test, page: string, files: Files = {}) {
  const folder = t.testdir()
  const dataFolder = await makeDataFolder(path.join(folder, 'data'))
  const plugins = { enabled: true, isolation: 'strict', hardened: false, allowLocal: [], secretKeys: [] } as const
  const server = await openTestServer(t, { settings: { dataFolder, plugins } })
  const { database, services, adminToken } = server
  // The key file exists after the first start of a server.
  await credentialKeys(services.settings)
  const { way } = await openRepositoryServer(t, files)
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  const exports = await openExports({ database, tasks, dataFolder, log: silentLog })
  const opened = await openPlugins({
    ...{ settings: services.settings, log: silentLog, database, tasks, egress: new HttpsEgress(way) },
    ...{ supervisor: findSupervisor(), rules: findRules() },
    drawCover: async () => ({ refused: 'kind' }),
    resizeImage: resizePicture,
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
  /** `npm start` prints its arguments and starts nothing: the server is running already. */
  const PRELUDE = `
    curl() { command curl --silent --show-error --fail-with-body "$@"; }
    npm() {
      if [ "$1" = start ]; then shift; [ "$1" = -- ] && shift; node -e 'console.log(JSON.stringify({ words: process.argv.slice(1), key: process.env.CARREL_SECRET_KEY }))' -- "$@"
      else shift 3; DATABASE_URL='${connectionString}' node '${program}' "$@" --data-dir data; fi
    }`
  const typed = new Set<string>()

  /** Runs the commands below a heading in order. Returns their outputs, which must match `expected`. */
  async function type(heading: string, variables: Record<string, string>, expected: readonly unknown[], from = page): Promise<unknown[]> {
    const commands = await commandsOf(from, heading)
    t.equal(commands.length, expected.length, `${heading}: every command has an expected output`)
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

  /** Checks that every command of the page was run. */
  async function checkComplete(): Promise<void> {
    const headings = [...(await readFile(path.join(root, page), 'utf8')).matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading)
    const all = (await Promise.all(headings.map((heading) => commandsOf(page, heading)))).flat()
    t.same(
      all.filter((command) => !typed.has(command)),
      [],
      'every command was run',
    )
    const blocks = (await readFile(path.join(root, page), 'utf8')).match(/^```sh$/gm) ?? []
    t.ok(all.length >= blocks.length, 'every command is below a heading')
  }

  /** Installs the plugin and grants its permissions; returns its id. */
  const install = async (main: string, manifest: Record<string, unknown>) => {
    const { plugin, sha256 } = await opened.services.pluginLifecycle.install(pluginOf(main, manifest), { userId: null })
    await opened.services.pluginLifecycle.consent(plugin.id, { sha256 })
    return plugin.id
  }
  return { ...server, folder, tasks, keyOf, adminKey, type, checkComplete, install }
}
