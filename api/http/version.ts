import { readFileSync } from 'node:fs'

const about: { version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** The name under which the server presents itself. */
export const NAME = 'Carrel'
export const VERSION = about.version
