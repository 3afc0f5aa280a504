import type { Person, Role } from '../../../plugin-sdk/index.ts'
import { isRec, type Rec, recsOf, textOf } from './graphql.ts'

/** People of one work: weekly magazines list dozens of assistants. */
const PEOPLE_MAX = 50
const NAME_LENGTH_MAX = 200
const ROLE_LENGTH_MAX = 100

/**
 * Roles by AniList's role names; the first match counts. In a comic they map to writers and pencillers, as in ComicInfo; in a novel to
 * authors and illustrators.
 */
const ROLES: readonly [pattern: RegExp, comic: readonly Role[], novel: readonly Role[]][] = [
  [/^story (&|and) art\b|^art (&|and) story\b/, ['writer', 'penciller'], ['author', 'illustrator']],
  [/\bassistan(t|ce)\b|\bcharacter design\b|\bcooperation\b|\bsupervis/, ['contributor'], ['contributor']],
  [/\btranslat/, ['translator'], ['translator']],
  [/\bletter|\btouch-?up\b/, ['letterer'], ['letterer']],
  [/\bcover\b/, ['cover_artist'], ['cover_artist']],
  [/\bedit/, ['editor'], ['editor']],
  [/\bcolou?r/, ['colorist'], ['colorist']],
  [/\bink/, ['inker'], ['inker']],
  [/^original (creator|story|work)\b|^story\b|\bscript\b|^writ|^author\b|^creator\b/, ['writer'], ['author']],
  [/^art\b|^art(ist|work)\b|^draw|^pencil/, ['penciller'], ['illustrator']],
  [/\billustrat/, ['illustrator'], ['illustrator']],
]
/** Roles that belong to the edition in one language; AniList lists those of all languages. */
const OF_EDITIONS: ReadonlySet<Role> = new Set(['translator', 'letterer', 'editor'])

/**
 * The people of a work, each role of each person once.
 * @param language of the edition, as AniList writes it: `English`; the staff of other editions is left out
 */
export function peopleOf(media: Rec, language: string): Person[] {
  const isNovel = media['format'] === 'NOVEL'
  const people: Person[] = []
  for (const { role, node } of recsOf(isRec(media['staff']) ? media['staff']['edges'] : null)) {
    const names = isRec(node) && isRec(node['name']) ? node['name'] : {}
    const name = (textOf(names['full']) ?? textOf(names['native']))?.replace(/\s+/g, ' ').slice(0, NAME_LENGTH_MAX).toWellFormed()
    if (name === undefined) continue
    const roleName = (textOf(role) ?? '').slice(0, ROLE_LENGTH_MAX)
    // `Translator (English)`, `Story (ch 1-20)`.
    const [, aside = ''] = /\(([^()]*)\)/.exec(roleName) ?? []
    const known = ROLES.find(([pattern]) =>
      pattern.test(
        roleName
          .replace(/\([^()]*\)?/g, '')
          .trim()
          .toLowerCase(),
      ),
    )
    const roles: readonly Role[] = known === undefined ? ['contributor'] : isNovel ? known[2] : known[1]
    for (const own of roles) {
      if (OF_EDITIONS.has(own) && /^\p{Lu}\p{L}+/u.test(aside) && aside.split(/[:,\s]/)[0]?.toLowerCase() !== language.toLowerCase())
        continue
      if (!people.some((person) => person.name === name && person.role === own)) people.push({ name, role: own })
    }
  }
  return people.slice(0, PEOPLE_MAX)
}
