import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildZip } from '#test/support/zip-builder.ts'

const FILES_PER_FOLDER = 20
/** One GIF pixel: the smallest page there is, for benches that are about files, not pictures. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** Writes so many comics of one page, twenty to a series. */
export function writeSmallLibrary(library: string, files: number): void {
  for (let index = 0; index < files; index++) {
    const series = join(library, `Series ${String(Math.floor(index / FILES_PER_FOLDER)).padStart(5, '0')}`)
    if (index % FILES_PER_FOLDER === 0) mkdirSync(series, { recursive: true })
    // The comment makes every file's hash its own.
    const zip = buildZip([{ name: '1.gif', data: PIXEL }], { comment: Buffer.from(`book ${index}`) })
    writeFileSync(join(series, `Book ${String(index).padStart(6, '0')} v${(index % FILES_PER_FOLDER) + 1}.cbz`), zip)
  }
}
