import { readablePattern, UNREADABLE } from '#core/foundation/stranger-text.ts'
import { ToolProblem } from './command.ts'

/** What one version says; an index has no more. */
const ENTRY_LENGTH_MAX = 4_000

const READABLE = new RegExp(readablePattern(ENTRY_LENGTH_MAX, { lines: true }), 'u')
const HEADING = /^(#{1,6})\s+\[?v?(\d+\.\d+\.\d+[\w.-]*)/

/** @throws ToolProblem for a text that servers and administrators would not get as it is */
export function checkNews(text: string): string {
  const entry = text.replaceAll('\r\n', '\n').trim()
  if (entry === '') throw new ToolProblem('What is new is empty. Write a line for administrators, such as: Finds books by their ISBN.')
  if (entry.length > ENTRY_LENGTH_MAX)
    throw new ToolProblem(
      `What is new has ${entry.length} characters; the limit of one version is ${ENTRY_LENGTH_MAX}. Write what matters to administrators.`,
    )
  if (!READABLE.test(entry)) throw new ToolProblem(`What is new must not contain ${UNREADABLE}.`)
  const heading = entry.split('\n').find((line) => HEADING.test(line))
  if (heading !== undefined)
    throw new ToolProblem(`What is new contains the heading of a version: "${heading}". Leave it out; it is added.`)
  return entry
}

/** What a changelog says of a version; null when it has no heading of it. */
export function newsOf(changelog: string, version: string): string | null {
  const lines = changelog.split(/\r?\n/)
  const at = lines.findIndex((line) => HEADING.exec(line)?.[2] === version)
  if (at < 0) return null
  const after = lines.slice(at + 1)
  const end = after.findIndex((line) => HEADING.test(line))
  return (end < 0 ? after : after.slice(0, end)).join('\n').trim()
}

/** The same where an index can have it. */
export function indexedEntry(changelog: string, version: string): string | undefined {
  const entry = newsOf(changelog, version)
  return entry !== null && entry !== '' && READABLE.test(entry) ? entry : undefined
}

/** A changelog with an entry before those of the earlier versions. */
export function withEntry(changelog: string | null, version: string, entry: string): string {
  const lines = (changelog ?? '# Changelog\n').trimEnd().split(/\r?\n/)
  const at = lines.findIndex((line) => HEADING.test(line))
  const level = HEADING.exec(lines[at] ?? '')?.[1] ?? '##'
  const own = [`${level} ${version}`, '', ...entry.split('\n')]
  if (at < 0) return `${[...lines, '', ...own].join('\n').trimStart()}\n`
  return `${[...lines.slice(0, at), ...own, '', ...lines.slice(at)].join('\n')}\n`
}
