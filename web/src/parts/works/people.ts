import type { components } from '#api/schema.d.ts'
import { workTexts } from '#texts/works.ts'

type Author = components['schemas']['Author']
type Role = Author['role']

/** A person with all that they did for a work. */
export interface Person {
  name: string
  roles: Role[]
}

/** Who is named below the title: those who wrote or drew it. */
const MAKERS: readonly Role[] = ['author', 'co_author', 'writer', 'penciller', 'illustrator']

/** The order of a record is kept; a person with several roles stands once. */
export function peopleOf(authors: readonly Author[] | null | undefined): Person[] {
  const people = new Map<string, Person>()
  for (const { name, role } of authors ?? []) {
    const person = people.get(name) ?? { name, roles: [] }
    if (!person.roles.includes(role)) person.roles.push(role)
    people.set(name, person)
  }
  return [...people.values()]
}

export const makersOf = (people: readonly Person[]): Person[] => people.filter(({ roles }) => roles.some((role) => MAKERS.includes(role)))

export const roleWords = ({ roles }: Person): string =>
  roles.map((role, index) => (index === 0 ? workTexts[role]() : workTexts[role]().toLocaleLowerCase())).join(', ')
