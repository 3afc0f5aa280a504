import { readFileSync } from 'node:fs'

const about: { version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** How the server calls itself. */
export const NAME = 'Carrel'
export const VERSION = about.version
