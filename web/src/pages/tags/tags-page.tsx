import { useQuery } from '@tanstack/react-query'
import { Tag } from 'lucide-react'
import { useMemo } from 'react'
import { Link, useSearch } from 'wouter'
import { type WordKind, wordsQuery } from '#api/names.ts'
import { type NameEntry, NameIndex } from '#parts/names/name-index.tsx'
import { nameTexts } from '#texts/names.ts'

const KINDS: readonly { kind: WordKind; href: string; text: () => string }[] = [
  { kind: 'tags', href: '/tags', text: nameTexts.tags },
  { kind: 'genres', href: '/tags?of=genres', text: nameTexts.genres },
]

/** All tags, and all genres. */
export default function TagsPage() {
  const kind: WordKind = new URLSearchParams(useSearch()).get('of') === 'genres' ? 'genres' : 'tags'
  const { data, error, refetch } = useQuery(wordsQuery(kind))
  const entries = useMemo(() => data?.data.map((word) => entryOf(kind, word)), [data, kind])
  const isTags = kind === 'tags'
  return (
    <NameIndex
      title={isTags ? nameTexts.tags() : nameTexts.genres()}
      findLabel={isTags ? nameTexts.findTags() : nameTexts.findGenres()}
      entries={entries}
      isCut={data !== undefined && data.data.length < data.total}
      error={error}
      onRetry={() => void refetch()}
      empty={{ icon: Tag, title: isTags ? nameTexts.noTags() : nameTexts.noGenres(), words: nameTexts.noWordsHint() }}
    >
      <nav className="tabs" aria-label={nameTexts.kinds()}>
        {KINDS.map((each) => (
          <Link key={each.kind} href={each.href} replace aria-current={each.kind === kind ? 'page' : undefined}>
            {each.text()}
          </Link>
        ))}
      </nav>
    </NameIndex>
  )
}

/** What no series has, only books do. */
function entryOf(kind: WordKind, { name, seriesCount }: { name: string; seriesCount?: number | null }): NameEntry {
  const value = `${kind === 'tags' ? 'tag' : 'genre'}=${encodeURIComponent(name)}`
  return seriesCount
    ? { name, href: `/series?${value}`, count: nameTexts.series({ count: seriesCount }) }
    : { name, href: `/books?${value}`, count: nameTexts.onlyBooks() }
}
