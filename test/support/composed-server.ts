import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Knex } from 'knex'
import type { Test } from 'tap'
import { openComposition } from '#api/compose.ts'
import type { Services } from '#api/http/services.ts'
import { Server } from '#api/server.ts'
import type { Caller } from '#core/account/caller.ts'
import type { Role } from '#core/account/permission.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { RegularJobs } from '#core/foundation/regular-jobs.ts'
import { changeSettings } from '#core/settings/chosen-setting-store.ts'
import type { Settings } from '#core/settings/settings.ts'
import { setTestRule } from '#test/support/access-rules.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { findServerPool } from '#test/support/pool.ts'
import { ADMIN, TEST_PASSWORD_COST, testSettings } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'

/** Somebody from whom a series is kept. */
export interface Walker {
  role: Role
  /**
   * How: its tag is denied to them, or they may see nothing but what carries another; their list of libraries leaves its library out; or it is for older
   * readers: `up_to` shows what is for 12 and younger, and nothing without a rating, `not_from` hides what is for 18 and older.
   */
  mode: 'deny' | 'allow' | 'libraries' | 'up_to' | 'not_from'
  /** Whether it is an API key that has the rule, and not its user. */
  byKey?: boolean
  /** Whether they come with the session of a browser, which our own API accepts. */
  byCookie?: boolean
}

/** The whole server on a free port, with all its services, a fresh database, a folder of its own and the first administrator. */
export async function openComposedServer(t: Test, options: { jobs?: RegularJobs; settings?: Partial<Settings> } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-composed-'))
  const { database } = await openTestDatabase(t, { poolMax: 10 })
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { services, start, url } = await openNode(t, { database, folder, ...options })
  const { accessToken: adminToken } = await services.accounts.initialize(ADMIN)
  await openProtocols(database)
  return { folder, database, services, start, url, adminToken }
}

/** One node of a database and a data folder, listening on a free port; its tasks run when the caller starts them. */
export async function openNode(
  t: Test,
  { database, folder, jobs, settings }: { database: Knex; folder: string; jobs?: RegularJobs; settings?: Partial<Settings> },
) {
  const { services, start, close } = await openComposition({
    ...(jobs && { jobs }),
    settings: testSettings({ ...settings, dataFolder: folder }),
    log: silentLog,
    database,
    passwordCost: TEST_PASSWORD_COST,
    pool: findServerPool(),
    supervisor: findSupervisor(),
  })
  const server = new Server(services)
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await server.close({ deadlineMs: 500 })
    await close()
  })
  return { services, start, url }
}

/** Opens what is closed until an administrator opens it. */
export async function openProtocols(database: Knex): Promise<void> {
  const { id: userId } = await database('users').first('id')
  const changes = [{ key: 'readerSync.enabled', value: 'true' }]
  await changeSettings(database, changes, { userId, reason: null, address: '127.0.0.1' })
}

/**
 * Makes a user with a rule, and signs them in; or a key with the rule, whose user sees everything.
 * @param walker.tagId that is denied, or the only one allowed
 * @param walker.libraries the only ones that a list shows
 * @returns the access token, or the key; `ownToken` of the user; and the cookie of their browser, if they have one
 */
export async function addWalker(
  { database, services }: { database: Knex; services: Services },
  { role, mode, byKey = false, byCookie = false, tagId, libraries = [] }: Walker & { tagId: string; libraries?: readonly string[] },
): Promise<{ said: string; id: string; accessToken: string; ownToken: string; cookie: string | null }> {
  const name = `${role}-${mode}${byKey ? '-key' : byCookie ? '-cookie' : ''}`
  const user = { username: `walker-${name}`, email: `${name}@example.org`, password: 'a long enough password', role }
  const { id } = await services.accounts.createUser(user, null)
  const said = `${role} (${mode}${byKey ? ' of a key' : byCookie ? ' in a browser' : ''})`
  if (mode === 'deny' || mode === 'allow') {
    await database('user_sharing_grants').insert({ user_id: id, sharing_tag_id: tagId, access_mode: mode })
  }
  const login = { username: user.username, password: user.password, address: '127.0.0.1' }
  const { accessToken: ownToken } = await services.accounts.login(login)
  const browser = byCookie ? await services.accounts.login(login, { kind: 'cookie', userAgent: null }) : null
  const cookie = browser && `carrel_session=${browser.cookieToken}`
  if (mode === 'deny' || mode === 'allow') return { said, id, accessToken: ownToken, ownToken, cookie }
  const made = byKey ? await addKey(services, ownToken) : null
  const rule =
    mode === 'libraries'
      ? { libraries }
      : { age: mode === 'up_to' ? ({ mode, years: 12, unrated: 'hide' } as const) : ({ mode, years: 18, unrated: 'show' } as const) }
  await setTestRule(database, made ? { api_key_id: made.id } : { user_id: id }, rule)
  return { said, id, accessToken: made?.key ?? ownToken, ownToken, cookie }
}

async function addKey({ accounts }: Services, accessToken: string): Promise<{ id: string; key: string }> {
  const caller = (await accounts.callers.ofToken(accessToken, 'token')) as Caller
  return await accounts.createApiKey({ name: 'tablet' }, caller)
}
