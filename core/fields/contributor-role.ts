import type { AuthorRole } from '#core/fields/field.ts'

/** The member of Readium's web publications for each role; roles without one are contributors, with a MARC relator if there is one. */
export const CONTRIBUTOR_OF_ROLE: Readonly<Record<AuthorRole, { member: string; relator?: string }>> = {
  author: { member: 'author' },
  co_author: { member: 'author' },
  writer: { member: 'author' },
  editor: { member: 'editor' },
  translator: { member: 'translator' },
  illustrator: { member: 'illustrator' },
  contributor: { member: 'contributor' },
  penciller: { member: 'penciler' },
  inker: { member: 'inker' },
  colorist: { member: 'colorist' },
  letterer: { member: 'letterer' },
  cover_artist: { member: 'contributor', relator: 'cov' },
}
