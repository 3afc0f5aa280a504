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
import { openZip, type ZipArchive } from '#workers/formats/zip/zip.ts'

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

async function thumbnail(archive: ZipArchive): Promise<void> {
  const first = archive.entries.find((entry) => PICTURE.test(entry.name))
  if (first)
    await sharp(archive.read(first, 256 * 1024 * 1024))
      .resize(400, 400, { fit: 'inside' })
      .jpeg({ quality: 85 })
      .toBuffer()
}

export default async function bareAnalysis(path: string): Promise<void> {
  const fd = openSync(path, 'r')
  try {
    const bytes = hashFile(fd)
    if (/\.(cbz|epub)$/.test(path)) {
      const archive = openZip({ path, fd, bytes })
      if (path.endsWith('.cbz')) for (const entry of archive.entries) if (PICTURE.test(entry.name)) imageSize(archive.head(entry, 2048))
      await thumbnail(archive)
    }
    if (path.endsWith('.pdf')) await drawPdfPage({ root: dirname(path), path, index: 0, longestSide: 400, purpose: 'cover' })
  } finally {
    closeSync(fd)
  }
}
