import type { Metafile } from 'esbuild'
import { kilobytes, ToolProblem } from '#plugins/devkit/command.ts'
import { CODE_BYTES_MAX } from '#plugins/packages/plugin-package.ts'

/** A file of a bundle, with the bytes that it has there. */
export interface Module {
  file: string
  bytes: number
}

/** From here on `pack` says what is large. */
const BYTES_NEAR = CODE_BYTES_MAX * 0.8
const SHOWN_MAX = 10

const outputOf = ({ outputs }: Metafile): Metafile['outputs'][string] | undefined =>
  Object.entries(outputs).find(([name]) => name.endsWith('main.js'))?.[1]

/** The files of a bundle, the largest first. */
export const modulesOf = (metafile: Metafile): Module[] =>
  Object.entries(outputOf(metafile)?.inputs ?? {})
    .map(([file, { bytesInOutput: bytes }]) => ({ file, bytes }))
    .sort((a, b) => b.bytes - a.bytes || (a.file < b.file ? -1 : 1))

/** What is wrong with a bundle that exports no plugin. */
export function describeNoPlugin(file: string, exports: readonly string[]): string {
  const instead = exports.length === 0 ? 'It exports nothing' : `It exports ${exports.join(', ')}`
  return `${file} has no default export, which a server needs. ${instead}. Write: export default definePlugin({ … })`
}

/** @throws ToolProblem for code that no server runs: each command would report it in another way */
export function checkBundle(code: string, metafile: Metafile): void {
  const { exports = [], entryPoint = 'The entry point' } = outputOf(metafile) ?? {}
  if (!exports.includes('default')) throw new ToolProblem(describeNoPlugin(entryPoint, exports))
  const bytes = Buffer.byteLength(code)
  if (bytes <= CODE_BYTES_MAX) return
  throw new ToolProblem(
    [
      `The bundle has ${kilobytes(bytes)}; the limit of a server is ${kilobytes(CODE_BYTES_MAX)}. Its largest modules:`,
      ...sizeLines(modulesOf(metafile)),
    ].join('\n'),
  )
}

/** The largest modules, one a line; without the flag only near the limit. */
export function listSizes({ code, modules }: { code: string; modules: Module[] | null }, isAsked: boolean): string[] {
  if (modules === null || (!isAsked && Buffer.byteLength(code) < BYTES_NEAR)) return []
  return ['  largest modules', ...sizeLines(modules)]
}

function sizeLines(modules: readonly Module[]): string[] {
  const rest = modules.slice(SHOWN_MAX)
  const more = rest.length === 0 ? [] : [{ file: `${rest.length} others`, bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0) }]
  return [...modules.slice(0, SHOWN_MAX), ...more].map(({ file, bytes }) => `  ${kilobytes(bytes).padStart(9)}  ${file}`)
}
