import { useMemo } from 'react'
import { type Recording, useRecorder } from '../shared/use-recorder.ts'
import { type BookMap, isBookEnd, type Locator, locatorOf } from './text-locator.ts'
import { sendLocator, type TextElsewhere } from './text-progress.ts'
import type { ShownPlace } from './text-view.ts'
import type { OpenedText } from './use-text-view.ts'

interface Options {
  map: BookMap
  /** Where a person went last; null before the first turn. */
  lastTurn: ShownPlace | null
  isIncognito: boolean
}

/** Records where a person goes. */
export function useTextRecorder({ book, progression }: OpenedText, { map, lastTurn, isIncognito }: Options): Recording<TextElsewhere> {
  const place = useMemo(() => {
    if (!lastTurn || map.book.sections[lastTurn.index]?.problem) return null
    // A text of one page ends where it begins.
    const isStart = lastTurn.index === 0 && lastTurn.fraction === 0 && !isBookEnd(map.book, lastTurn)
    return { sent: locatorOf(map, lastTurn), isStart }
  }, [map, lastTurn])
  return useRecorder({
    bookId: book.id,
    basedOn: book.readProgress?.updatedAt ?? null,
    from: progression?.locator ?? null,
    isIncognito,
    place,
    onLeaving: null,
    isSamePlace: ({ locator }: TextElsewhere, sent: Locator) =>
      locator.href === sent.href && locator.locations?.totalProgression === sent.locations?.totalProgression,
    send: (locator: Locator, request) => sendLocator(book.id, locator, request),
  })
}
