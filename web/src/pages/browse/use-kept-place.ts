import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { currentEntry, keepPlace, placeToRestore } from '#parts/places.ts'
import type { RowLayout } from './row-layout.ts'
import type { RowWindow } from './use-row-window.ts'

interface KeptPlaceOf {
  count: number
  layout: RowLayout
  rows: RowWindow
}

/** A list that is only shown in another way is the same list. */
function addressOfList(path: string, search: string): string {
  const said = new URLSearchParams(search)
  for (const name of ['view', 'size', 'columns']) said.delete(name)
  return `${path}?${said}`
}

/** The item that has the focus, and the one at the top: kept for this address, restored on the way back and when the columns change. */
export function useKeptPlace({ count, layout, rows }: KeptPlaceOf) {
  const address = addressOfList(useLocation()[0], useSearch())
  const [active, setActive] = useState(0)
  const top = useRef(0)
  const ready = useRef<{ address: string; columns: number } | null>(null)
  const isReady = count > 0 && layout.rowHeight > 0
  const { scrollToRow, seen } = rows
  useLayoutEffect(() => {
    if (!isReady) return
    const last = ready.current
    ready.current = { address, columns: layout.columns }
    if (last?.address !== address) {
      const kept = placeToRestore(currentEntry())
      top.current = kept?.top ?? 0
      setActive(kept?.active ?? 0)
      if (kept && kept.top > 0) scrollToRow(Math.floor(kept.top / layout.columns))
      else scrollTo({ top: 0, behavior: 'instant' })
    } else if (last.columns !== layout.columns && top.current > 0) scrollToRow(Math.floor(top.current / layout.columns))
  }, [isReady, address, layout.columns, scrollToRow])
  useEffect(() => {
    if (!isReady || ready.current?.columns !== layout.columns) return
    top.current = seen.top * layout.columns
    keepPlace(currentEntry(), { top: top.current, active })
  }, [isReady, address, seen.top, layout.columns, active])
  return { active, setActive }
}
