import net from 'node:net'
import { didYouMean } from '#core/foundation/nearest-name.ts'
import { LOCAL_ADDRESS_ABOUT, readLocalAddress } from '#core/settings/local-hosts.ts'
import { absolutePath, type Setting, type SettingKind } from '#core/settings/setting-table.ts'

export type Value = string | number | boolean | readonly string[]

/** One value and its source, for the messages. `from` is the folder that relative paths start from. */
export interface Given {
  source: string
  value: unknown
  from: string
}

type ListKind = 'folders' | 'addresses' | 'services' | 'origins'

/** Kinds that accept several values. */
export const isList = ({ type }: SettingKind): boolean => Object.hasOwn(LISTS, type)

/** Splits a list in an environment variable: folders by colons as in PATH, all others by commas. */
export function splitList(setting: Setting, text: string): string | string[] {
  if (!isList(setting.kind)) return text
  return text
    .split(setting.kind.type === 'folders' ? ':' : ',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** What a list consists of, and how an entry is read; null for one that is not valid. */
const LISTS: Readonly<Record<ListKind, { what: string; read: (text: string, from: string) => string | null }>> = {
  folders: { what: 'paths of folders', read: absolutePath },
  addresses: { what: 'IP addresses or CIDR ranges like 10.0.0.0/8', read: (text) => (isAddress(text) ? text : null) },
  services: { what: LOCAL_ADDRESS_ABOUT, read: readLocalAddress },
  origins: {
    what: 'origins like https://reader.example.org (no path, no / at the end), or *',
    read: (text) => (isOrigin(text) ? text : null),
  },
}

/** In the format that browsers send. */
function isOrigin(text: string): boolean {
  return text === '*' || (/^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text)
}

/** Checks one value; `problem` completes a sentence that begins with its source. */
export function parseValue(setting: Setting, given: Given): { value: Value } | { problem: string } {
  const { kind } = setting
  const { value } = given
  const quotedValue = setting.secret ? 'the given value' : JSON.stringify(value)
  switch (kind.type) {
    case 'text':
      return typeof value === 'string' && value.trim() !== ''
        ? { value }
        : { problem: `must be text that is not empty, not ${quotedValue}.` }
    case 'folder':
      return typeof value === 'string' && value !== ''
        ? { value: absolutePath(value, given.from) }
        : { problem: `must be the path of a folder, not ${quotedValue}.` }
    case 'folders':
    case 'addresses':
    case 'origins':
    case 'services': {
      const list: unknown[] = Array.isArray(value) ? value : [value]
      const { what, read } = LISTS[kind.type]
      const values: string[] = []
      for (const each of list) {
        const entry = typeof each === 'string' && each !== '' ? read(each, given.from) : null
        if (entry === null) return { problem: `must be ${what}, not ${JSON.stringify(each)}.` }
        values.push(entry)
      }
      return { value: [...new Set(values)] }
    }
    case 'integer': {
      const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
      if (typeof number !== 'number' || !Number.isInteger(number) || number < kind.min || number > kind.max)
        return { problem: `must be a whole number from ${kind.min} to ${kind.max}, not ${quotedValue}.` }
      return { value: number }
    }
    case 'choice':
      if (typeof value === 'string' && kind.choices.includes(value)) return { value }
      return {
        problem: `must be one of ${kind.choices.join(', ')}, not ${quotedValue}.${typeof value === 'string' ? didYouMean(value, kind.choices) : ''}`,
      }
    case 'boolean': {
      const text = String(value).toLowerCase()
      if (['true', 'on', 'yes', '1'].includes(text)) return { value: true }
      if (['false', 'off', 'no', '0'].includes(text)) return { value: false }
      return { problem: `must be on or off, not ${quotedValue}.` }
    }
  }
}

function isAddress(text: string): boolean {
  const [address, bits, more] = text.split('/')
  const family = net.isIP(address!)
  if (family === 0 || more !== undefined) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}
