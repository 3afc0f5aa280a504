import type { KeyObject } from 'node:crypto'
import { realpath, rename, rm, writeFile } from 'node:fs/promises'
import { packPlugin } from '#plugins/packages/plugin-package.ts'
import type { Bundle } from './bundling/bundle.ts'
import { fileReason, ToolProblem } from './command.ts'
import type { Project } from './project.ts'

/**
 * The package of a project. The same files always give the same bytes.
 * @throws AppError for a package that no server would install
 */
export function packProject(
  { manifestBytes, extras }: Project,
  { code, map }: Bundle,
  keys: readonly KeyObject[] = [],
  nextSigners?: readonly string[],
): Buffer {
  return packPlugin(
    new Map<string, Uint8Array>([
      ['manifest.json', manifestBytes],
      ['main.js', Buffer.from(code)],
      ...(map === null ? [] : [['main.js.map', Buffer.from(map)] as const]),
      ...extras,
    ]),
    keys,
    nextSigners,
  )
}

/** Writes a file as a whole: a command that is killed leaves the earlier one. @throws ToolProblem when the file cannot be written */
export async function writePackage(file: string, bytes: string | Uint8Array): Promise<void> {
  // A link stays one.
  const target = await realpath(file).catch(() => file)
  const part = `${target}.part`
  try {
    await writeFile(part, bytes)
    await rename(part, target)
  } catch (error) {
    await rm(part, { force: true }).catch(() => {})
    throw new ToolProblem(`${file} cannot be written (${fileReason(error, 'ENOENT: its folder does not exist')}).`, { cause: error })
  }
}
