import type { Analysis } from '#core/fields/analysis.ts'
import { bufferOf } from '#core/foundation/byte-view.ts'

/** The message of the process for small files; readAnalyses reads it. Apart from it, because that loads every schema of metadata. */
export const writeAnalyses = (analyses: readonly (Analysis | null)[]): Uint8Array =>
  Buffer.from(JSON.stringify(analyses.map(withTextCover)))

function withTextCover(one: Analysis | null) {
  if (!one?.cover) return one
  return { ...one, cover: { ...one.cover, jpeg: bufferOf(one.cover.jpeg).toString('base64') } }
}
