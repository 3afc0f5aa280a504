import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Inspector } from '#plugins/runtime/inspection.ts'
import type { Program } from '#plugins/runtime/program.ts'
import { type Built, programOf } from './plugin-session.ts'
import { withInlineMap } from './source-lines.ts'

/** The same program, with a source map, so that a debugger shows the author's files. */
export function debugProgram(folder: string, built: Built, inspector: Inspector): Program {
  // The path of the packed file: the sources that the map names beside it are then on disk, and editors find them.
  const name = pathToFileURL(path.join(folder, 'main.js')).href
  const code = withInlineMap(built.code, built.map ?? null)
  return { ...programOf(built), sources: [{ name, code, module: true }], alone: true, inspect: inspector }
}
