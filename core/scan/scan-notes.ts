import { describeAlike } from '#core/scan/links/alike-names.ts'
import type { FollowedLink } from '#core/scan/links/link-follower.ts'
import type { WalkBatch } from '#core/scan/walk.ts'

/** What a scan lists is for people, who look at some and find the others. */
const LEFT_OUT_MAX = 100
const LINKS_MAX = 5
const ALIKE_MAX = 20

/** How many there are, and the first of them, relative to the library. */
export interface NotedFiles {
  count: number
  files: string[]
}

/** Pairs of names of one folder that differ only in case or Unicode form. */
export interface AlikeNames {
  count: number
  pairs: [string, string][]
}

/** What a scan tells about files besides errors. */
export class ScanNotes {
  /** Files that are parts of other books: other formats, and later volumes of a set. */
  readonly leftOut: NotedFiles = { count: 0, files: [] }
  readonly skippedLinks: NotedFiles = { count: 0, files: [] }
  readonly alikeNames: AlikeNames = { count: 0, pairs: [] }
  /** A hundred bytes each. */
  readonly followed: FollowedLink[] = []

  add({ leftOut, symlinks, alike, followed }: WalkBatch): void {
    for (const { path } of leftOut) note(this.leftOut, path, LEFT_OUT_MAX)
    for (const path of symlinks) note(this.skippedLinks, path, LINKS_MAX)
    this.alikeNames.count += alike.length
    for (const pair of alike) if (this.alikeNames.pairs.length < ALIKE_MAX) this.alikeNames.pairs.push(pair)
    for (const link of followed) this.followed.push(link)
  }
}

function note(noted: NotedFiles, path: string, max: number): void {
  noted.count += 1
  if (noted.files.length < max) noted.files.push(path)
}

/** The notes of a scan as sentences. */
export function describeNotes(scan: { skipped_links: NotedFiles | null; alike_names: AlikeNames | null }): string[] {
  const links = scan.skipped_links ?? { count: 0, files: [] }
  const alike = scan.alike_names ?? { count: 0, pairs: [] }
  const sentences = alike.pairs.map(([one, other]) => describeAlike(one, other))
  if (alike.count > alike.pairs.length) sentences.push(`… and ${alike.count - alike.pairs.length} more such pairs of names`)
  if (links.count > 0) sentences.unshift(describeSkippedLinks(links))
  return sentences
}

function describeSkippedLinks({ count, files }: NotedFiles): string {
  const listed = files.map((path) => `"${path}"`).join(', ')
  const what = count === 1 ? '1 link was' : `${count} links were`
  return `${what} not followed: ${listed}${count > files.length ? ', …' : ''}. Links are followed only into the linkTargets of the library, and not to what is found by another way.`
}

/** What to do about a folder of many unrelated titles. */
export const describeUnrelatedFolder = (path: string): string =>
  `"${path}": this folder contains many unrelated titles, and its series has only the folder's name. Give each series a folder of its own.`
