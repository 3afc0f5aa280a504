import { folderWords, type NameRole, wordsBefore, wordsBehind } from '#core/fields/name-words.ts'

const both = (...roles: NameRole[]): string[] => roles.flatMap((role) => [...wordsBefore(role), ...wordsBehind(role)])

/** Letters are words in names of folders only with a number: "v01", "T3". "Saga 2" is a title more often than an arc. */
const FOLDER_WORDS = {
  volume: [...both('volume'), 'v', 't'],
  chapter: [...both('chapter'), 'c'],
  section: [...both('season', 'part', 'arc', 'issue').filter((word) => word !== 'saga'), 's'],
  edition: folderWords('edition'),
  side: folderWords('side'),
  oneshot: folderWords('oneshot'),
} as const

/** Kinds of words in the names of folders: before or behind a number (`volume`, `chapter`, `section`), or alone. */
type FolderWordKind = keyof typeof FOLDER_WORDS
export const FOLDER_WORD_KINDS = Object.keys(FOLDER_WORDS) as FolderWordKind[]
export type FolderWords = Readonly<Record<FolderWordKind, ReadonlySet<string>>>
export type MoreWords = Partial<Record<FolderWordKind, readonly string[]>>

const wordSets = (more: MoreWords): FolderWords => {
  const sets = FOLDER_WORD_KINDS.map((kind) => [
    kind,
    new Set([...FOLDER_WORDS[kind], ...(more[kind] ?? [])].map((word) => word.normalize('NFKC').toLowerCase().trim())),
  ])
  // It has an entry of each kind, which `fromEntries` does not say.
  return Object.fromEntries(sets) as unknown as FolderWords
}

const ALL = wordSets({})
/** The words of all languages, and those of a library. */
export const wordsWith = (more: MoreWords | undefined): FolderWords => (more ? wordSets(more) : ALL)
