import { useQuery } from '@tanstack/react-query'
import { Users } from 'lucide-react'
import { useMemo } from 'react'
import { peopleQuery } from '#api/names.ts'
import { type NameEntry, NameIndex } from '#parts/names/name-index.tsx'
import { personHref } from '#parts/works/hero.tsx'
import { type Person, roleWords } from '#parts/works/people.ts'
import { nameTexts } from '#texts/names.ts'

/** Everyone who made something in the libraries of the user. */
export default function PeoplePage() {
  const { data, error, refetch } = useQuery(peopleQuery)
  const entries = useMemo(() => data && entriesOf(data.data), [data])
  return (
    <NameIndex
      title={nameTexts.people()}
      findLabel={nameTexts.findPeople()}
      entries={entries}
      isCut={data !== undefined && data.data.length < data.total}
      error={error}
      onRetry={() => void refetch()}
      empty={{ icon: Users, title: nameTexts.noPeople(), words: nameTexts.noPeopleWords() }}
    />
  )
}

/** @param people once for each role, the roles of a person beside each other */
function entriesOf(people: readonly { name: string; role: string; seriesCount: number }[]): NameEntry[] {
  const known = new Map<string, Person & { seriesCount: number }>()
  for (const { name, role, seriesCount } of people) {
    const roles = known.get(name)?.roles ?? []
    known.set(name, { name, seriesCount, roles: [...roles, role as Person['roles'][number]] })
  }
  return [...known.values()].map((person) => ({
    name: person.name,
    href: personHref(person.name),
    words: roleWords(person),
    count: nameTexts.series({ count: person.seriesCount }),
  }))
}
