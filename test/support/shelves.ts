import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createCanvas } from '@napi-rs/canvas'
import type { Test } from 'tap'
import { coverPath } from '#core/covers/cover.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTaskQueue } from '#core/tasks/task-queue.ts'
import { complaintsOf } from '#test/support/answer-check.ts'
import { addBook, addLibrary, addSeries } from '#test/support/library-rows.ts'
import { openTestServer } from '#test/support/server.ts'
import { drawCover } from '#workers/images/image.ts'
import { readReadingList } from '#workers/metadata/reading-list.ts'

/** 900 by 1200 pixels. */
export function picture(kind: 'image/jpeg' | 'image/png' | 'image/webp' | 'image/avif'): Buffer {
  const canvas = createCanvas(900, 1200)
  canvas.getContext('2d').fillRect(0, 0, 500, 700)
  if (kind === 'image/avif') return canvas.toBuffer(kind, { quality: 60 })
  // Each has its own overload.
  if (kind === 'image/png') return canvas.toBuffer(kind)
  return kind === 'image/jpeg' ? canvas.toBuffer('image/jpeg') : canvas.toBuffer('image/webp')
}

/** One GIF pixel. */
export const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** A server with two series and three books, one with a cover, and functions for requests of its administrator. */
export async function openShelves(t: Test) {
  const dataFolder = mkdtempSync(join(tmpdir(), 'carrel-shelves-'))
  const server = await openTestServer(t, {
    settings: { dataFolder },
    services: () => ({ drawCover, readReadingList: async (bytes: Uint8Array) => readReadingList(bytes) }),
  })
  const { database } = server
  const tasks = await openTaskQueue({ database, log: silentLog, nodeId: 'test' })
  Object.assign(server.services, { tasks })
  t.teardown(async () => {
    await tasks.stop()
    rmSync(dataFolder, { recursive: true, force: true })
  })
  const libraryId = await addLibrary(database)
  const batman = await addSeries(database, { library_id: libraryId, title: 'Batman (2011)' })
  const saga = await addSeries(database, { library_id: libraryId, title: 'Saga' })
  const one = await addBook(database, { library_id: libraryId, series_id: batman, title: 'Batman 1', number: 1, cover_hash: 'aa' })
  const two = await addBook(database, { library_id: libraryId, series_id: batman, title: 'Batman 2', number: 2 })
  const other = await addBook(database, { library_id: libraryId, series_id: saga, title: 'Saga 1', number: 1 })
  mkdirSync(dirname(coverPath(dataFolder, one)), { recursive: true })
  writeFileSync(coverPath(dataFolder, one), picture('image/jpeg'))
  const upload = async (path: string, bytes: Uint8Array | string, name = 'cover.jpg') => {
    const form = new FormData()
    form.set('note', 'passed over')
    form.set('file', new Blob([typeof bytes === 'string' ? bytes : Uint8Array.from(bytes)]), name)
    const answer = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.adminToken}` },
      body: form,
    })
    const json = (await answer.json()) as { id: string; width: number; [name: string]: unknown }
    t.same(complaintsOf({ method: 'POST', path, status: answer.status, json }), [], `POST ${path} matches its schema`)
    return { status: answer.status, json }
  }
  const ask = <T = Record<string, never>>(method: string, path: string, body?: unknown) =>
    server.request<T>(method, path, { token: server.adminToken, ...(body !== undefined && { body }) })
  return { ...server, dataFolder, tasks, libraryId, batman, saga, one, two, other, upload, ask }
}
