import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, ask } from '#api/client.ts'
import { Problem } from '#api/problem.ts'
import type { BookCondition, SeriesCondition } from '#api/records.ts'
import { filterTexts } from '#texts/filter.ts'
import { type BrowseAddress, type BrowseKind, conditionOf } from '../browse-address.ts'
import { type Condition, countLines, type Group, LINES_MAX, type Part, withPart, writeDraft } from './draft.ts'
import type { NameOf } from './filter-words.ts'
import { useValueNames } from './use-value-names.ts'

/** Before this pause in writing nothing is counted. In milliseconds. */
const WRITING_MS = 250

/** What the lines and groups of the builder share. */
export interface Builder {
  kind: BrowseKind
  libraryId: string | null
  nameOf: NameOf
  change: (part: Part) => void
  add: (groupId: number, part: Part) => void
  remove: (id: number) => void
  /** The sentence beside a line; null while it is right, or not yet said. */
  faultOf: (id: number) => string | null
  /** Whether a part has just been added, or lost one: it takes the focus once. */
  focusOf: (id: number) => { isNew: boolean; onFocused: () => void }
}

interface Built {
  kind: BrowseKind
  libraryId: string | null
  address: BrowseAddress
  first: Group
}

export function useBuilder({ kind, libraryId, address, first }: Built) {
  const [root, setRoot] = useState(first)
  const [focused, setFocused] = useState<number | null>(null)
  const [hasTried, setHasTried] = useState(false)
  const written = writeDraft(kind, root)
  const counted = useCount({ kind, libraryId, q: address.q, condition: written.condition })
  const refused = refusalOf(counted.error, written.places)
  const set = (next: Group) => setRoot(next)
  const builder: Builder = {
    kind,
    libraryId,
    nameOf: useValueNames([root]),
    change: (part) => set(part.id === root.id ? (part as Group) : withPart(root, part.id, () => part)),
    add: (groupId, part) => {
      if (countLines(root) >= LINES_MAX) return
      const withIt = (group: Group): Group => ({ ...group, parts: [...group.parts, part] })
      set(groupId === root.id ? withIt(root) : withPart(root, groupId, (group) => withIt(group as Group)))
      setFocused(part.id)
    },
    remove: (id) => {
      setFocused(parentOf(root, id)?.id ?? null)
      set(withPart(root, id, () => null))
    },
    faultOf: (id) => {
      const fault = written.faults.get(id)
      // A line that was just added is not wrong yet, only empty.
      if (fault && (hasTried || fault !== 'valueMissing')) return filterTexts[fault]()
      return refused?.lineId === id ? refused.sentence : null
    },
    focusOf: (id) => ({ isNew: focused === id, onFocused: () => setFocused(null) }),
  }
  return { root, setRoot: set, written, counted, refused, builder, try: () => setHasTried(true) }
}

function parentOf(group: Group, id: number): Group | null {
  if (group.parts.some((part) => part.id === id)) return group
  for (const part of group.parts) {
    const found = part.kind === 'group' ? parentOf(part, id) : null
    if (found) return found
  }
  return null
}

interface Counted {
  kind: BrowseKind
  libraryId: string | null
  q: string | null
  condition: Condition | null
}

/** How many match now, and how many there are without the conditions. */
function useCount({ kind, libraryId, q, condition }: Counted) {
  const given = JSON.stringify(condition)
  const [resting, setResting] = useState(given)
  useEffect(() => {
    const timer = setTimeout(() => setResting(given), WRITING_MS)
    return () => clearTimeout(timer)
  }, [given])
  const now = useQuery({
    ...countQuery({ kind, libraryId, q, condition: JSON.parse(resting) as Condition | null }),
    placeholderData: keepPreviousData,
  })
  const all = useQuery(countQuery({ kind, libraryId, q, condition: null }))
  const isCounting = resting !== given || now.isFetching
  return { count: now.error ? null : (now.data ?? null), all: all.data ?? null, isCounting, error: isCounting ? null : now.error }
}

const NO_ADDRESS = { show: 'all', genre: null, tag: null, person: null, publisher: null, language: null, format: null, year: null } as const

function countQuery({ kind, libraryId, q, condition }: Counted) {
  const where = condition && JSON.stringify(condition)
  const whole = conditionOf({ ...NO_ADDRESS, where } as unknown as BrowseAddress, libraryId)
  const query = { page: 1, pageSize: 1 }
  return {
    queryKey: [kind === 'series' ? 'series-list' : 'books', 'count', libraryId, q, where],
    queryFn: async ({ signal }: { signal: AbortSignal }): Promise<number> => {
      const body = { condition: whole, fullTextSearch: q }
      const answer =
        kind === 'series'
          ? await ask(
              api.POST('/api/v1/series/list', { params: { query }, body: { ...body, condition: whole as SeriesCondition | null }, signal }),
            )
          : await ask(
              api.POST('/api/v1/books/list', { params: { query }, body: { ...body, condition: whole as BookCondition | null }, signal }),
            )
      return answer.total
    },
  }
}

/** Why the server refuses a condition, and beside which line that belongs. */
function refusalOf(error: Error | null, places: ReadonlyMap<string, number>): { lineId: number | null; sentence: string } | null {
  if (error === null) return null
  const [detail] =
    error instanceof Problem && Array.isArray(error.details) ? (error.details as { path?: unknown; message?: unknown }[]) : []
  // The builder writes the condition of the page beside it: /condition/allOf/N/… for the server, /condition/… here.
  const path = typeof detail?.path === 'string' ? detail.path.replace(/^\/condition\/allOf\/\d+/, '/condition') : ''
  const place = [...places.keys()].filter((each) => path.startsWith(each)).sort((a, b) => b.length - a.length)[0]
  return { lineId: place === undefined ? null : (places.get(place) ?? null), sentence: error.message }
}
