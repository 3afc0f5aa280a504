import { closeSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import type { Analysis } from '#core/fields/analysis.ts'
import { analyzeEpub } from '#workers/formats/epub/epub.ts'
import { ZipArchive } from '#workers/formats/zip/zip.ts'

/** Analyzes an EPUB in this thread. */
export async function analyzeBytes(bytes: Uint8Array, verifyPages = false): Promise<Omit<Analysis, 'file' | 'format'>> {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-epub-'))
  const path = join(folder, 'book.epub')
  writeFileSync(path, bytes)
  const fd = openSync(path, 'r')
  try {
    return await analyzeEpub(new ZipArchive({ path, fd, bytes: fstatSync(fd).size }), { verifyPages })
  } finally {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  }
}

const COLORS = { red: '#f00', green: '#0f0', blue: '#00f' } as const

/** A JPEG of one color. */
export async function coloredPicture(color: keyof typeof COLORS, width = 60, height = 90): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: COLORS[color] } })
    .jpeg()
    .toBuffer()
}
