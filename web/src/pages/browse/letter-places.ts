export interface LetterGroup {
  group: string
  count: number
}

/** Where the items of a letter begin in a list. */
export interface LetterPlace {
  letter: string
  index: number
  count: number
}

/** What WCAG 2.5.8 asks of something to press, and what bars and space take of the window, in CSS pixels. */
const PRESSED_MIN = 24
const TAKEN = 128

/** How many letters or years have room beside a list: at least the first and the last. @param windowHeight in CSS pixels */
export const roomOfRail = (windowHeight: number): number => Math.max(2, Math.floor((windowHeight - TAKEN) / PRESSED_MIN))

/**
 * @param groups letters with the number of their items, in the order of the list sorted upwards
 * @param windowHeight in CSS pixels: letters that have no room are left out evenly; who looks for one begins at the one before
 */
export function placesOfLetters(groups: readonly LetterGroup[], isDescending: boolean, windowHeight: number): LetterPlace[] {
  const ordered = isDescending ? groups.toReversed() : groups
  let index = 0
  const places = ordered.map(({ group, count }) => {
    const place = { letter: group.toLocaleUpperCase(), index, count }
    index += count
    return place
  })
  const room = roomOfRail(windowHeight)
  if (places.length <= room) return places
  const step = (places.length - 1) / (room - 1)
  return Array.from({ length: room }, (_, at) => places[Math.round(at * step)]!)
}
