import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const here = path.dirname(fileURLToPath(import.meta.url))
/** In a checkout the file is in this folder; in the built package it is one level up. */
export const isCheckout = existsSync(path.join(here, 'carrel-plugin.mjs'))
const program = path.resolve(here, isCheckout ? '.' : '..', 'carrel-plugin.mjs')
const create = path.resolve(here, '..', '..', 'plugin-sdk', 'create', 'create-plugin.mjs')

interface Typing {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
}

/**
 * A command as its user can type it here: `carrel-plugin` where that is on the PATH, else by its file in the checkout, else through npm by the
 * package's name: npm asks the registry for a name that is not installed, and anybody may register one without a scope.
 */
export function typedTool(words: string, { env, cwd }: Typing = { env: process.env, cwd: process.cwd() }): string {
  if (isOnPath(env['PATH'])) return `carrel-plugin ${words}`
  return isCheckout ? `node ${fileFrom(cwd, program)} ${words}` : `npx @carrel/plugin-tool ${words}`
}

/** The command that creates a plugin, as {@link typedTool}. */
export const typedCreate = (cwd = process.cwd()): string =>
  isCheckout ? `node ${fileFrom(cwd, create)} my-plugin` : 'npm create @carrel/plugin my-plugin'

function fileFrom(cwd: string, absolute: string): string {
  const relative = path.relative(cwd, absolute)
  return quotedWord(relative.length < absolute.length ? relative : absolute)
}

/** As one word of a command line. */
export const quotedWord = (word: string): string => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

function isOnPath(folders: string | undefined): boolean {
  return (folders ?? '').split(path.delimiter).some((folder) => {
    // npm adds these folders only for its scripts; the user's own shell does not have them.
    if (folder === '' || path.basename(path.dirname(folder)) === 'node_modules') return false
    try {
      return realpathSync(path.join(folder, 'carrel-plugin')) === program
    } catch {
      return false
    }
  })
}
