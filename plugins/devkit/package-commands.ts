import { createHash, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { briefText, escapedLines } from '#core/foundation/stranger-text.ts'
import { fingerprintOf } from '#plugins/packages/fingerprint.ts'
import { readPackage, readPublicKey } from '#plugins/packages/plugin-package.ts'
import { listSizes } from './bundling/bundle-sizes.ts'
import { checkStop, fileReason, kilobytes, printMessage, type ToolCommand, type ToolInput, ToolProblem } from './command.ts'
import { packProject, writePackage } from './pack.ts'
import { createKey, readKey, signPackage } from './signing.ts'
import { checkTypesUnless, printTypes, TYPES } from './type-check.ts'
import { typedTool } from './typed.ts'
import { summarize, type Validation, validateProject } from './validate.ts'
import type { Finding } from './validate-files.ts'

const MARKS = { error: { mark: '✖', style: 'red' }, warning: { mark: '!', style: 'yellow' } } as const

export function printFindings({ out }: Pick<ToolInput, 'out'>, findings: readonly Finding[]): void {
  for (const { level, check, message } of findings) {
    const { mark, style } = MARKS[level]
    printMessage(out, [style, `${mark} ${level}`.padEnd(9)], ` ${check.padEnd(11)} ${message}`)
  }
}

export const hasErrors = ({ findings }: Validation): boolean => findings.some(({ level }) => level === 'error')

export const validate: ToolCommand = {
  name: 'validate',
  usage: '',
  summary: 'checks the plugin as a server and its administrator would',
  about:
    'Checks the manifest, bundles and scans the code, checks types with the TypeScript of your project, and starts the code once in the sandbox. Errors make the command fail; warnings are for you to judge.',
  flags: [{ name: 'json', isSwitch: true, about: 'Prints the findings as JSON: { ok, findings: [{ level, check, message }] }.' }, TYPES],
  async run(input) {
    const { folder, log, out, isOn } = input
    const validation = await validateProject(folder, log, (project) => checkTypesUnless(input, project, input.stop))
    checkStop(input, 'Not everything was checked.')
    const { findings, project, bundle } = validation
    const isGood = !hasErrors(validation)
    if (isOn('json')) {
      out.line(JSON.stringify({ ok: isGood, findings }, null, 2))
      return isGood ? 0 : 1
    }
    printFindings(input, findings)
    printTypes(input, { errors: [], leftOut: validation.typesLeftOut })
    if (findings.length > 0) out.line()
    const what = project === null ? 'The plugin' : `${project.manifest.id} ${project.manifest.version}`
    const size = bundle === null ? '' : `, ${kilobytes(Buffer.byteLength(bundle.code))} of code`
    if (isGood)
      out.line(`${out.paint('green', '✔')} ${what} is fit to be packed${size}${findings.length > 0 ? `: ${summarize(findings)}` : ''}.`)
    else out.line(`${out.paint('red', '✖')} ${what} cannot be packed: ${summarize(findings)}.`)
    return isGood ? 0 : 1
  },
}

export const NEXT_FLAG = {
  name: 'next',
  value: 'public key',
  repeatable: true,
  about: 'A key that may sign the next version, as --new-key prints it; by default the keys that sign this one. You can repeat the flag.',
} as const

/** The keys that may sign the next version; undefined without the flag. */
export function readNext(all: ToolInput['all'], keys: readonly KeyObject[]): string[] | undefined {
  const next = all('next')
  if (next.length === 0) return undefined
  if (keys.length === 0) throw new ToolProblem('Only a signed package can name who signs the next version. Add --key FILE.')
  const wrong = next.find((key) => readPublicKey(key) === null)
  if (wrong !== undefined)
    throw new ToolProblem(`--next is a public key, as sign --new-key prints it, and no file: "${briefText(wrong)}" is none.`)
  return [...next]
}

export const pack: ToolCommand = {
  name: 'pack',
  usage: '',
  summary: 'validates and bundles the plugin, and makes the .plugin package',
  about:
    'Makes <id>-<version>.plugin from the folder. The same files always give the same bytes, so anybody can reproduce and compare the package.',
  flags: [
    { name: 'out', value: 'file', about: 'Where to write it; by default the folder of the plugin.' },
    { name: 'key', value: 'file', repeatable: true, about: 'Signs it with this key. You can repeat the flag.' },
    NEXT_FLAG,
    { name: 'sizes', isSwitch: true, about: 'Prints the largest modules; near the size limit it always does.' },
    TYPES,
  ],
  async run(input) {
    const { cwd, folder, log, out, flag, all } = input
    const validation = await validateProject(folder, log, (project) => checkTypesUnless(input, project, input.stop))
    checkStop(input, 'Nothing was packed.')
    const { findings, project, bundle } = validation
    printFindings(input, findings)
    printTypes(input, { errors: [], leftOut: validation.typesLeftOut })
    if (findings.length > 0) out.line()
    if (hasErrors(validation) || project === null || bundle === null) {
      out.line(`${out.paint('red', '✖')} Nothing was packed: ${summarize(findings)}.`)
      return 1
    }
    const keys = await Promise.all(all('key').map((file) => readKey(path.resolve(cwd, file))))
    const bytes = packProject(project, bundle, keys, readNext(all, keys))
    const { id, version } = project.manifest
    const wanted = flag('out')
    const file = wanted === undefined ? path.join(folder, `${id}-${version}.plugin`) : path.resolve(cwd, wanted)
    await writePackage(file, bytes)
    printPackage(input, file, bytes)
    const sizes = [`main.js ${kilobytes(Buffer.byteLength(bundle.code))}`]
    if (bundle.map !== null) sizes.push(`main.js.map ${kilobytes(Buffer.byteLength(bundle.map))}`)
    out.line(`  code    ${sizes.join(', ')}`)
    for (const line of listSizes(bundle, input.isOn('sizes'))) out.line(line)
    return 0
  },
}

/** Prints what identifies a package. */
export function printPackage({ cwd, out }: Pick<ToolInput, 'cwd' | 'out'>, file: string, bytes: Buffer): void {
  const { signedBy, nextSigners } = readPackage(bytes)
  out.line(`${out.paint('green', '✔')} ${escapedLines(path.relative(cwd, file) || file)}`)
  out.line(`  sha256  ${createHash('sha256').update(bytes).digest('hex')}`)
  out.line(`  size    ${kilobytes(bytes.length)} (${bytes.length} bytes)`)
  out.line(`  signed  ${signedBy.length === 0 ? 'no' : signedBy.map(fingerprintOf).join(', ')}`)
  if (signedBy.length > 0) out.line(`  next    ${(nextSigners ?? []).map(fingerprintOf).join(', ')}`)
}

export const sign: ToolCommand = {
  name: 'sign',
  usage: '[package]',
  summary: 'makes a key, or signs a package',
  about:
    'With --new-key, makes a key. Keep the file: updates of a signed plugin must be signed with a key that the version before names. With a package and --key, signs it. To change keys, sign a version with the old key and name the new one with --next.',
  flags: [
    { name: 'new-key', value: 'file', about: 'Makes an Ed25519 key, readable by you alone.' },
    { name: 'key', value: 'file', repeatable: true, about: 'The key to sign with. You can repeat the flag.' },
    NEXT_FLAG,
  ],
  async run(input) {
    const { cwd, words, flag, all, out } = input
    const fresh = flag('new-key')
    const keyFiles = all('key').length > 0 || fresh === undefined ? all('key') : [fresh]
    const [given] = words
    if (fresh !== undefined) {
      const publicKey = await createKey(path.resolve(cwd, fresh))
      out.line(
        `${out.paint('green', '✔')} ${escapedLines(fresh)} contains a new key. Keep it secret, and out of your repository (.gitignore); you need it for every update.`,
      )
      out.line(`  public  ${publicKey}`)
      out.line(`  fingerprint  ${fingerprintOf(publicKey)}`)
    }
    if (given === undefined && fresh !== undefined) return 0
    if (given === undefined || keyFiles.length === 0)
      throw new ToolProblem(
        `Give the package and the key: ${typedTool('sign FILE.plugin --key KEY.pem')}. If you have no key, make one first: --new-key KEY.pem`,
      )
    const file = path.resolve(cwd, given)
    const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
      throw new ToolProblem(`${file} cannot be read (${fileReason(error)}).`, { cause: error })
    })
    const keys = await Promise.all(keyFiles.map((name) => readKey(path.resolve(cwd, name))))
    const signed = signPackage(file, bytes, keys, readNext(all, keys))
    await writePackage(file, signed)
    printPackage(input, file, signed)
    return 0
  },
}
