import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Inspector } from '#plugins/runtime/inspection.ts'
import type { Program } from '#plugins/runtime/program.ts'
import { type Built, programOf } from './plugin-session.ts'

const MAP_COMMENT = /\n\/\/# sourceMappingURL=[^\n]*\s*$/

/** The same program, in whose place a debugger shows the files that its author has written. */
export function debugProgram(folder: string, built: Built, inspector: Inspector): Program {
  // As it would lie there after packing: what the map names beside it is on the disk then, and editors find it.
  const name = pathToFileURL(path.join(folder, 'main.js')).href
  return { ...programOf(built), sources: [{ name, code: withMap(built), module: true }], alone: true, inspect: inspector }
}

/** A debugger has nowhere to fetch the map from: it comes along. */
function withMap({ code, map = null }: Built): string {
  if (map === null) return code
  const address = `data:application/json;base64,${Buffer.from(map).toString('base64')}`
  return `${code.replace(MAP_COMMENT, '')}\n//# sourceMappingURL=${address}\n`
}
