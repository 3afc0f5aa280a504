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

/** More letters than this do not fit beside a list: writings with thousands of signs keep the first ones. */
const LETTERS_MAX = 60

/** @param groups letters with the number of their items, in the order of the list sorted upwards */
export function placesOfLetters(groups: readonly LetterGroup[], isDescending: boolean): LetterPlace[] {
  const ordered = isDescending ? groups.toReversed() : groups
  let index = 0
  const places = ordered.map(({ group, count }) => {
    const place = { letter: group.toLocaleUpperCase(), index, count }
    index += count
    return place
  })
  return places.length > LETTERS_MAX ? places.filter((_, at) => at % Math.ceil(places.length / LETTERS_MAX) === 0) : places
}
