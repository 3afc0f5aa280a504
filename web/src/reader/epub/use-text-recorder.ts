import { useMemo } from 'react'
import { type Recording, useRecorder } from '../shared/use-recorder.ts'
import { type BookMap, type Locator, locatorOf } from './text-locator.ts'
import { sendLocator, type TextElsewhere } from './text-progress.ts'
import type { ShownPlace } from './text-view.ts'
import type { OpenedText } from './use-text-view.ts'

interface Options {
  map: BookMap
  place: ShownPlace | null
  isIncognito: boolean
}

/** Records the place on screen. */
export function useTextRecorder({ book }: OpenedText, { map, place, isIncognito }: Options): Recording<TextElsewhere> {
  const made = useMemo(
    () =>
      place && !map.book.sections[place.index]?.problem
        ? { sent: locatorOf(map, place), isStart: place.index === 0 && place.fraction === 0 }
        : null,
    [map, place],
  )
  return useRecorder({
    bookId: book.id,
    basedOn: book.readProgress?.updatedAt ?? null,
    isIncognito,
    place: made,
    onLeaving: null,
    isSamePlace: ({ locator }: TextElsewhere, sent: Locator) =>
      locator.href === sent.href && locator.locations?.totalProgression === sent.locations?.totalProgression,
    send: (locator: Locator, request) => sendLocator(book.id, locator, request),
  })
}
