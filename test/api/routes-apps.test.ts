import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { routes } from '#api/routes.ts'
import { CHOSEN_SETTINGS } from '#core/settings/chosen-setting.ts'
import { SETTINGS, type Setting } from '#core/settings/setting-table.ts'
import { root } from '#test/support/carrel-process.ts'
import { openDocumentedServer } from '#test/support/documented-commands.ts'

t.setTimeout(240_000)

const FOLDER = 'docs/apps'
const pages = readdirSync(path.join(root, FOLDER)).sort()
const textOf = (page: string) => readFileSync(path.join(root, FOLDER, page), 'utf8')
const matchesOf = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, found = '']) => found))]

/** Addresses to which apps add the rest themselves, and one that they then ask. */
const BASES: Record<string, string> = { '/komga': '/komga/api/v1/libraries', '/koreader': '/koreader/users/auth' }

/** Whether a route answers GET there. The first part of the compatibility API is a setting. */
function isServed(address: string): boolean {
  const parts = (address.split('?', 1)[0] as string).split('/')
  return routes.some((route) => {
    const fits = (part: string, index: number) => part.startsWith(':') || part === parts[index]
    const isAt = (wanted: string[]) => wanted.length === parts.length && wanted.every(fits)
    return route.method === 'GET' && [route.path, ...(route.alsoAt ?? [])].some((path) => isAt(path.split('/')))
  })
}

t.test('every address of the pages is served', async (t) => {
  for (const page of pages) {
    const text = textOf(page)
    const typed = matchesOf(text, /https:\/\/books\.example\.org(\/[\w./:-]*)/g)
    const asked = [...matchesOf(text, /\$URL(\/[^"\s]*)/g), ...matchesOf(text, /`(?:GET )?(\/(?:api|komga|koreader|opds)\/[^`\s]*)`/g)]
    for (const address of [...typed, ...asked]) {
      if (address === '/api/v1') continue
      t.ok(isServed(BASES[address] ?? address), `${page}: ${address}`)
    }
  }
})

t.test('every setting, flag and variable of the pages is one', async (t) => {
  const table: readonly Setting[] = SETTINGS
  const keys = [...CHOSEN_SETTINGS.map(({ key }) => key), ...table.map(({ key }) => key)]
  for (const page of pages) {
    const text = textOf(page)
    const named = [...matchesOf(text, /settings [gs]et ([a-z]\S+\.\S+)/g), ...matchesOf(text, /`([a-z][A-Za-z]*\.[a-z][A-Za-z]*)`/g)]
    for (const key of named) t.ok(keys.includes(key), `${page}: ${key}`)
    for (const flag of matchesOf(text, /`--(host|port)\b/g))
      t.ok(
        table.some((setting) => setting.flag === flag),
        `${page}: --${flag}`,
      )
    for (const variable of matchesOf(text, /`(CARREL_[A-Z_]+)/g)) {
      t.ok(
        table.some(({ env }) => env === variable),
        `${page}: ${variable}`,
      )
    }
  }
})

t.test('the first page leads to all others, and no link is dead', async (t) => {
  for (const page of pages) {
    if (page !== 'README.md') t.match(textOf('README.md'), `](${page})`, page)
    for (const link of matchesOf(textOf(page), /\]\(([^)]+)\)/g)) {
      const [file = '', heading] = link.split('#')
      t.ok(existsSync(path.join(root, FOLDER, file)), `${page}: ${link}`)
      if (heading === undefined) continue
      const headings = matchesOf(textOf(file), /^#+ (.+)$/gm).map((words) => words.toLowerCase().replaceAll(' ', '-'))
      t.ok(headings.includes(heading), `${page}: ${link}`)
    }
  }
  t.match(readFileSync(path.join(root, 'README.md'), 'utf8'), '](docs/apps/README.md)')
})

t.test('every page about an app says what works, what to enter, and how to check the connection', async (t) => {
  for (const page of pages.filter((one) => one !== 'README.md')) {
    const text = textOf(page)
    t.match(text, /^\| \| \|$/m, `${page} has a table of what works`)
    t.match(text, /^\| field \| value \|$/m, page)
    t.match(text, /^### Checking the /m, page)
    t.match(text, 'README.md#the-credential', page)
    if (/books\.example\.org\/komga/.test(text)) t.match(text, 'settings set compatibilityApi.enabled true', page)
    if (/books\.example\.org\/koreader/.test(text)) t.match(text, 'settings set readerSync.enabled true', page)
  }
})

t.test('every command of the pages does what they say', async (t) => {
  const { type, signUp, keyOf } = await openDocumentedServer(t, `${FOLDER}/README.md`)
  const { token } = await signUp({ username: 'rita' })
  const permissions = ['libraries-read', 'series-read', 'books-read', 'pages-read', 'progress-read', 'progress-write']
  const KEY = await keyOf(token, permissions)
  const typeOf = (page: string, heading: string, expected: readonly unknown[]) => type(heading, { KEY }, expected, `${FOLDER}/${page}`)
  const CATALOG = /^<\?xml[\s\S]*<feed/
  const CATALOG_2 = { metadata: { title: String } }
  const SWITCHED = /compatibilityApi\.enabled {2}true/

  await type('Enabling the compatibility API', {}, [SWITCHED, 'komga'])
  await type('Enabling the progress sync of KOReader', {}, [/readerSync\.enabled {2}true/])
  await type('A key for an app', {}, [/carrel_/, /Panels on the iPad/])
  await type('Testing the key', { KEY }, [CATALOG, { username: 'rita' }])

  await typeOf('panels.md', 'Checking the connection', [CATALOG])
  await typeOf('opds.md', 'Checking the connection', [CATALOG, CATALOG_2])
  await typeOf('thorium.md', 'Checking the connection', [CATALOG_2])
  await typeOf('koreader.md', 'Enabling it', [/readerSync\.enabled {2}true/])
  await typeOf('koreader.md', 'Checking the catalog', [CATALOG])
  await typeOf('koreader.md', 'Checking the sync', [{ authorized: 'OK' }])
  for (const page of ['mihon.md', 'komelia.md', 'kmreader.md', 'komic.md', 'paperback.md']) await typeOf(page, 'Enabling it', [SWITCHED])
  await typeOf('mihon.md', 'Checking the connection', [{ totalElements: Number }, []])
  await typeOf('komelia.md', 'Checking the connection', [{ id: String }, []])
  await typeOf('kmreader.md', 'Checking the connection', [{ id: String }, { content: [] }])
  await typeOf('komic.md', 'Checking the connection', [{ id: String }])
  await typeOf('paperback.md', 'Checking the connection', [{ content: [] }, []])
})
