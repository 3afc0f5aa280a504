import type { Analysis } from '#core/metadata/analysis.ts'

/** The message of the process for small files; readAnalyses reads it. Apart from it, because that loads every schema of metadata. */
export const writeAnalyses = (analyses: readonly (Analysis | null)[]): Uint8Array =>
  Buffer.from(JSON.stringify(analyses.map(withTextCover)))

function withTextCover(one: Analysis | null) {
  if (!one?.cover) return one
  const { buffer, byteOffset, length } = one.cover.jpeg
  return { ...one, cover: { ...one.cover, jpeg: Buffer.from(buffer, byteOffset, length).toString('base64') } }
}
