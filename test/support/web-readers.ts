import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Frame, Page } from 'playwright-core'
import type { Test } from 'tap'
import { openBrowser, openPage, type Watched } from '#test/support/browser.ts'
import { until } from '#test/support/library-fixture.ts'
import { openWebServer } from '#test/support/web-server.ts'

const ADA = { username: 'ada', email: 'ada@example.org', password: 'correct horse 1' }

/** A book that is read and where its reader is. */
interface Readers extends Awaited<ReturnType<typeof openWebServer>> {
  browser: Awaited<ReturnType<typeof openBrowser>>
  /** @param name of the file, without its ending */
  idOf(name: string): string
  /** A page of a new device of the same user, who is signed in. */
  openDevice(context?: Parameters<typeof openPage>[0]): Promise<Watched>
}

/** A server with a library of these books, each in the folder of its series, and a browser. @param books contents by path, such as 'Tide/Tide 1.cbz' @param strangers as of openBrowser */
export async function openReaders(t: Test, books: Record<string, Uint8Array>, strangers?: string): Promise<Readers> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'carrel-readers-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(books)) {
    await mkdir(path.join(folder, path.dirname(name)), { recursive: true })
    await writeFile(path.join(folder, name), content)
  }
  const server = await openWebServer(t, { books: folder })
  const { url, database, services } = server
  await services.accounts.initialize(ADA)
  const [{ id: libraryId }] = await database('libraries').insert({ name: 'Shelf', path: folder }, 'id')
  await services.scans.start(libraryId)
  const rows = await until(async () => {
    const found: { id: string; path: string; analyzed_at: Date | null }[] = await database('books').select('id', 'path', 'analyzed_at')
    return found.length === Object.keys(books).length && found.every((row) => row.analyzed_at !== null) && found
  })
  const ids = new Map(rows.map((row) => [path.basename(row.path).replace(/\.\w+$/, ''), row.id]))
  const browser = await openBrowser(t, strangers)
  return {
    ...server,
    browser,
    idOf: (name) => ids.get(name) as string,
    async openDevice(context = browser) {
      const device = await openPage(context, url)
      const data = { username: ADA.username, password: ADA.password, session: 'cookie' }
      await device.page.request.post(`${url}/api/v1/auth/login`, { data, headers: { origin: url } })
      return device
    },
  }
}

/** The chapter that the reader of texts shows, once it has a text. */
export async function chapterOf(page: Page, text: string): Promise<Frame> {
  return await until(async () => {
    for (const frame of page.frames()) {
      if (!frame.url().includes('/resource/')) continue
      if (
        await frame
          .getByText(text)
          .first()
          .isVisible()
          .catch(() => false)
      )
        return frame
    }
    return null
  })
}
