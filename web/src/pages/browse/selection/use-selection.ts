import { useQueryClient } from '@tanstack/react-query'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { isTyping } from '#parts/shortcuts.ts'
import { selectionTexts } from '#texts/selection.ts'
import { LIST_PAGE_SIZE, type ListSource, listPageQuery } from '../use-list-pages.ts'
import { countSelected, EVERYTHING, isSelected, NOTHING, type Selection, toggled, withRange } from './selection.ts'

/** A longer range is asked for in so many pages that a person waits; all of a list needs none. */
const RANGE_MAX = 5_000

/** The selection of a list, for its rows and its bar. */
export interface UsedSelection {
  count: number
  total: number
  has: (id: string) => boolean
  /** @param isRange everything between the one selected before and this one */
  pick: (index: number, id: string, isRange: boolean) => void
  /** Everything between two items, the first of them where nothing was selected before. */
  extend: (from: number, to: number) => void
  selectAll: () => void
  clear: () => void
  /** The ids of everything selected. All of a list is read page by page. */
  collect: (onDone: (done: number) => void, signal: AbortSignal) => Promise<string[]>
}

/** @param box of the list: keys count there, and where nothing else has the focus */
export function useSelection<T extends { id: string }>(
  source: ListSource<T>,
  total: number,
  box: RefObject<HTMLElement | null>,
): UsedSelection {
  const client = useQueryClient()
  const name = JSON.stringify(source.key)
  const [kept, setKept] = useState({ name, selection: NOTHING })
  // What was selected in another list is forgotten.
  const selection = kept.name === name ? kept.selection : NOTHING
  const set = (change: (before: Selection) => Selection) =>
    setKept((last) => ({ name, selection: change(last.name === name ? last.selection : NOTHING) }))
  const count = countSelected(selection, total)
  const clear = () => set(() => NOTHING)
  const selectAll = () => set(() => EVERYTHING)
  useSelectionKeys({ box, isOn: count > 0, selectAll, clear })

  const idsBetween = async (from: number, to: number): Promise<string[]> => {
    const [first, last] = [Math.min(from, to), Math.max(from, to)]
    const ids: string[] = []
    for (let page = Math.floor(first / LIST_PAGE_SIZE); page <= Math.floor(last / LIST_PAGE_SIZE); page++) {
      const { data } = await client.ensureQueryData(listPageQuery(source, page + 1))
      const begin = page * LIST_PAGE_SIZE
      ids.push(...data.slice(Math.max(0, first - begin), last - begin + 1).map(({ id }) => id))
    }
    return ids
  }
  const extend = (from: number, to: number) => {
    const begin = selection.anchor?.index ?? from
    if (Math.abs(to - begin) >= RANGE_MAX) return say(selectionTexts.rangeTooLong({ max: RANGE_MAX }), null, true)
    idsBetween(begin, to).then((ids) => set((before) => withRange(before, ids, begin)), sayFailure)
  }
  const collect = async (onDone: (done: number) => void, signal: AbortSignal): Promise<string[]> => {
    if (!selection.isAll) return [...selection.ids]
    const ids: string[] = []
    for (let page = 1, seen = 0; seen < total; page++) {
      const { data } = await source.fetch(page, signal)
      if (data.length === 0) break
      seen += data.length
      ids.push(...data.map(({ id }) => id).filter((id) => isSelected(selection, id)))
      onDone(seen)
    }
    // An entry that moved to another page meanwhile may have been read twice.
    return [...new Set(ids)]
  }
  return {
    count,
    total,
    has: (id) => isSelected(selection, id),
    pick: (index, id, isRange) => (isRange && selection.anchor ? extend(index, index) : set((before) => toggled(before, id, index))),
    extend,
    selectAll,
    clear,
    collect,
  }
}

interface Keys {
  box: RefObject<HTMLElement | null>
  isOn: boolean
  selectAll: () => void
  clear: () => void
}

/** Ctrl+A selects all, Escape nothing. */
function useSelectionKeys(keys: Keys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { box, isOn, selectAll, clear } = latest.current
      const target = event.target as HTMLElement
      if (event.defaultPrevented || isTyping(target) || target.closest('dialog, [popover]')) return
      if (event.key === 'Escape' && isOn) {
        clear()
      } else if (event.key.toLowerCase() === 'a' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
        if (!isOn && !box.current?.contains(target) && target !== document.body && target.tagName !== 'MAIN') return
        event.preventDefault()
        selectAll()
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}
