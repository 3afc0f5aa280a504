import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { openComposition } from '#api/compose.ts'
import { Server } from '#api/server.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { buildEpub } from '#test/support/epub-builder.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { findServerPool } from '#test/support/pool.ts'
import { ADMIN, awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'
import { TEST_PASSWORD_COST, testSettings } from '#test/support/server.ts'
import { findSupervisor } from '#test/support/supervisor.ts'
import { buildZip } from '#test/support/zip-builder.ts'

const comicInfo = (members: string) => ({
  name: 'ComicInfo.xml',
  data: Buffer.from(`<?xml version="1.0"?><ComicInfo>${members}</ComicInfo>`),
})

export interface Replayed<T> {
  status: number
  headers: Headers
  json: T
  bytes: Buffer
}

type Caller = Pick<RunningServer, 'url' | 'headers' | 'get'>

export interface KomgaServer {
  server: Caller
  basic: string
  /** Sends a request below the prefix, with Basic authentication unless it has other headers. */
  ask<T>(method: string, path: string, options?: { headers?: Record<string, string>; body?: unknown }): Promise<Replayed<T>>
}

async function fillLibrary(library: string): Promise<void> {
  const pages = await numberedPages(4)
  const put = (path: string, bytes: Uint8Array) => {
    mkdirSync(dirname(join(library, path)), { recursive: true })
    writeFileSync(join(library, path), bytes)
  }
  for (const number of [1, 2, 3]) {
    const people =
      '<Writer>Alan Moore</Writer><Penciller>Dave Gibbons</Penciller><Genre>Drama</Genre><Tags>classic</Tags><Publisher>DC</Publisher>'
    const info = `<Title>Issue ${number}</Title><Series>Watch</Series><Number>${number}</Number><Year>1986</Year><Month>9</Month>${people}<LanguageISO>en</LanguageISO>`
    put(`Watch/Watch ${number}.cbz`, buildZip([...pages, comicInfo(info)]))
  }
  for (const name of ['Alpha', 'Beta']) put(`Unnumbered/${name}.cbz`, buildZip([...pages, comicInfo(`<Title>${name}</Title>`)]))
  put(
    'Zeta/Emma.epub',
    buildEpub({ metadata: '<dc:title>Emma</dc:title><dc:creator>Jane Austen</dc:creator><dc:language>en</dc:language>' }),
  )
}

async function openWith(t: Test, folder: string, library: string | undefined): Promise<Caller> {
  const dataFolder = join(folder, 'data')
  if (library === undefined) {
    await fillLibrary(join(folder, 'library'))
    return await openHere(t, { dataFolder, library: join(folder, 'library') })
  }
  const { url } = await openTestDatabase(t)
  const server = await startServer({ dataFolder, args: ['--library', library], env: { DATABASE_URL: url } })
  t.teardown(async () => void (await server.stop()))
  return server
}

/** The whole server in this process: starting a separate one takes seconds of a core, and all tests of this protocol need a server. */
async function openHere(t: Test, { dataFolder, library }: { dataFolder: string; library: string }): Promise<Caller> {
  mkdirSync(dataFolder)
  const { database } = await openTestDatabase(t, { poolMax: 10 })
  const { services, start, close } = await openComposition({
    settings: testSettings({ dataFolder }),
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
  await services.accounts.ensureFirstAdmin(ADMIN)
  await start()
  const { accessToken } = await services.accounts.login({ ...ADMIN, address: '127.0.0.1' })
  const headers = { authorization: `Bearer ${accessToken}` }
  const get = async <T>(path: string): Promise<T> => {
    const answer = await fetch(url + path, { headers })
    if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }
  const made = await fetch(`${url}/api/v1/libraries`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'library', path: library, scanImmediately: true }),
  })
  if (made.status !== 201) throw new Error(`The library was not created: ${made.status} ${await made.text()}`)
  await made.body?.cancel()
  return { url, headers, get }
}

/** A server with an analyzed library: a separate process with the given folder, or a server in this process with a small library. */
export async function openKomgaServer(t: Test, given: { library?: string } = {}): Promise<KomgaServer> {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-komga-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const server = await openWith(t, folder, given.library)
  const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
  await awaitScan(server, data[0]?.id as string, { analyzed: true, timeoutMs: 300_000 })
  const basic = `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString('base64')}`
  return {
    server,
    basic,
    async ask(method, path, { headers = { authorization: basic }, body } = {}) {
      const answer = await fetch(server.url + path, {
        method,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        redirect: 'manual',
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const bytes = Buffer.from(await answer.arrayBuffer())
      const isJson = answer.headers.get('content-type')?.includes('json')
      return { status: answer.status, headers: answer.headers, json: isJson ? JSON.parse(bytes.toString()) : undefined, bytes }
    },
  }
}

/** Changes settings of the running server. */
export async function setSetting(
  { server }: Pick<KomgaServer, 'server'>,
  key: string,
  value: string,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${server.url}/api/v1/admin/settings/${key}`, {
    method: 'PUT',
    headers: { ...server.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ value }),
  })
  return { status: answer.status, text: await answer.text() }
}

type Kind =
  | 'text'
  | 'flag'
  | 'number'
  | 'whole'
  | 'moment'
  | 'day?'
  | 'text?'
  | 'number?'
  | 'texts'
  | 'people'
  | 'object'
  | 'object?'
  | 'any?'
export type Decoder = { [name: string]: Kind | Decoder | [Decoder] }

const isText = (value: unknown) => typeof value === 'string'
const CHECKS: Record<Kind, (value: unknown) => boolean> = {
  text: isText,
  flag: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  whole: Number.isInteger,
  // Without fractions, and with Z: the decoder of iOS accepts no other ISO 8601.
  moment: (value) => isText(value) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value as string),
  'day?': (value) => value === null || (isText(value) && /^\d{4}-\d\d-\d\d$/.test(value as string)),
  'text?': (value) => value === null || isText(value),
  'number?': (value) => value === null || typeof value === 'number',
  texts: (value) => Array.isArray(value) && value.every(isText),
  people: (value) => Array.isArray(value) && value.every((one) => isText(one?.name) && isText(one?.role)),
  object: (value) => typeof value === 'object' && value !== null,
  'object?': (value) => typeof value === 'object',
  'any?': () => true,
}

/** The problems that a strict decoder of an app would report: missing members (null is not missing) and members of another type. */
export function decoderErrors(decoder: Decoder, value: unknown, at = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${at || 'the response'} is not an object`]
  return Object.entries(decoder).flatMap(([name, kind]) => {
    const path = `${at}/${name}`
    if (!Object.hasOwn(value, name)) return [`${path} is missing`]
    const member = (value as Record<string, unknown>)[name]
    if (typeof kind === 'string') return CHECKS[kind](member) ? [] : [`${path} is ${JSON.stringify(member)}, not ${kind}`]
    if (!Array.isArray(kind)) return decoderErrors(kind, member, path)
    if (!Array.isArray(member)) return [`${path} is not a list`]
    return member.flatMap((entry, index) => decoderErrors(kind[0] as Decoder, entry, `${path}/${index}`))
  })
}
