import fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'

/**
 * Runs `carrel-plugin release` in a folder, and dies of SIGKILL before a change of a file in it, of which a half may be written.
 *     release-child.ts FOLDER CHANGE WORD…      prints how many changes it made, if it lives
 */
const [folder = '', at = '', ...words] = process.argv.slice(2)
let changes = 0

const dieAt = (change: (file: string) => void, file: unknown) => {
  if (typeof file !== 'string' || path.relative(folder, file).startsWith('..')) return
  changes += 1
  if (changes - 1 !== Number(at)) return
  change(file)
  process.kill(process.pid, 'SIGKILL')
}

const { writeFile, rename, mkdir, rm } = promises
promises.writeFile = async (...given: Parameters<typeof writeFile>) => {
  const [file, bytes] = given
  dieAt((half) => fs.writeFileSync(half, (bytes as string | Uint8Array).slice(0, (bytes as string | Uint8Array).length / 2)), file)
  return await writeFile(...given)
}
promises.rename = async (...given: Parameters<typeof rename>) => {
  dieAt(() => {}, given[1])
  return await rename(...given)
}
promises.mkdir = (async (...given: Parameters<typeof mkdir>) => {
  dieAt(() => {}, given[0])
  return await mkdir(...given)
}) as typeof mkdir
promises.rm = async (...given: Parameters<typeof rm>) => {
  dieAt(() => {}, given[0])
  return await rm(...given)
}
syncBuiltinESMExports()

const { runCommandLine } = await import('#plugins/devkit/command-line.ts')
const code = await runCommandLine(['release', ...words], {
  cwd: folder,
  out: { line() {}, paint: (_style, text) => text },
  printError: (text) => process.stderr.write(`${text}\n`),
  stop: new AbortController().signal,
})
process.stdout.write(`${changes}\n`)
process.exit(code)
