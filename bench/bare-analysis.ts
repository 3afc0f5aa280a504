/**
 * The unavoidable work of one book, for bench/analysis.ts: one read of the file for its SHA-256, the archive's directory, the
 * head of each page for its size, one thumbnail. No checks, no limits, no database. Runs in a piscina thread.
 */
import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import { imageSize } from 'image-size'
import sharp from 'sharp'
import { drawPdfPage } from '#workers/formats/pdf/pdf.ts'
import { extractRar, listRar } from '#workers/formats/rar/rar.ts'
import { ZipArchive } from '#workers/formats/zip/zip.ts'

sharp.concurrency(1)
sharp.cache(false)

const buffer = Buffer.allocUnsafe(1024 * 1024)
const PICTURE = /\.(jpe?g|png|gif|webp)$/i

function hashFile(fd: number): number {
  const hash = createHash('sha256')
  let position = 0
  for (;;) {
    const read = readSync(fd, buffer, 0, buffer.length, position)
    if (read === 0) break
    hash.update(buffer.subarray(0, read))
    position += read
  }
  hash.digest()
  return position
}

const thumbnail = (picture: Uint8Array) => sharp(picture).resize(400, 400, { fit: 'inside' }).jpeg({ quality: 85 }).toBuffer()

async function readZip(archive: ZipArchive, withPages: boolean): Promise<void> {
  const pictures = archive.entries.filter((entry) => PICTURE.test(entry.name))
  if (withPages) for (const entry of pictures) imageSize(archive.head(entry, 2048))
  if (pictures[0]) await thumbnail(archive.read(pictures[0], 256 * 1024 * 1024))
}

/** The head of a page in a RAR is known when the page has been unpacked. Some of the files are broken. */
async function readRar(path: string): Promise<void> {
  const file = { root: dirname(path), path }
  let first: Uint8Array | null = null
  try {
    const pictures = (await listRar(file)).entries.filter((entry) => PICTURE.test(entry.name))
    await extractRar(file, pictures, (_entry, content) => {
      imageSize(content)
      first ??= Uint8Array.from(content)
      return true
    })
    if (first) await thumbnail(first)
  } catch {}
}

export default async function bareAnalysis(path: string): Promise<void> {
  const fd = openSync(path, 'r')
  try {
    const bytes = hashFile(fd)
    if (/\.(cbz|epub)$/.test(path)) await readZip(new ZipArchive({ path, fd, bytes }), path.endsWith('.cbz'))
    if (path.endsWith('.cbr')) await readRar(path)
    if (path.endsWith('.pdf')) await drawPdfPage({ root: dirname(path), path, index: 0, longestSide: 400, purpose: 'cover' })
  } finally {
    closeSync(fd)
  }
}
