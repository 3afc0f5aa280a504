import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Inspector } from '#plugins/runtime/inspection.ts'
import type { Program } from '#plugins/runtime/program.ts'
import { type Built, programOf } from './plugin-session.ts'

const MAP_COMMENT = /\n\/\/# sourceMappingURL=[^\n]*\s*$/

/** The same program, with a source map, so that a debugger shows the author's files. */
export function debugProgram(folder: string, built: Built, inspector: Inspector): Program {
  // The path of the packed file: the sources that the map names beside it are then on disk, and editors find them.
  const name = pathToFileURL(path.join(folder, 'main.js')).href
  return { ...programOf(built), sources: [{ name, code: withMap(built), module: true }], alone: true, inspect: inspector }
}

/** A debugger cannot fetch the map, so it is inlined. */
function withMap({ code, map = null }: Built): string {
  if (map === null) return code
  const address = `data:application/json;base64,${Buffer.from(map).toString('base64')}`
  return `${code.replace(MAP_COMMENT, '')}\n//# sourceMappingURL=${address}\n`
}
