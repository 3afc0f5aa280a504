/** The longest real names and titles have a few hundred characters; lists of contributors in one string a few thousand. */
export const NAME_LENGTH_MAX = 500
export const TEXT_LENGTH_MAX = 4_000
/** Summaries are paragraphs; ten pages of text are probably an error. */
export const SUMMARY_LENGTH_MAX = 40_000
/** The largest anthologies name about two hundred people. */
export const AUTHORS_MAX = 500
export const LIST_MAX = 500
/** Characters of JSON of one list (people, awards, subjects): two hundred entries of the usual length, five hundred short ones. */
export const LIST_LENGTH_MAX = 32 * 1024
/** More titles than a series has in all languages of the world; the search text of each of its books contains them. */
export const ALTERNATE_TITLES_MAX = 50
/** JSON text of `customMetadata`: about a page of text, not a file. */
export const CUSTOM_BYTES_MAX = 64 * 1024

/** Maximum size of an uploaded cover: only an uncompressed scan of a page is larger. */
export const COVER_BYTES_MAX = 20 * 1_048_576

/** Full records that are read and sent at once: each may have a quarter of a megabyte, and ten of those take tens of milliseconds. */
export const FULL_AT_ONCE = 10

/** The first entries of a list, as many as a record can hold. */
export function fittingList<Entry>(list: readonly Entry[]): Entry[] {
  let length = '[]'.length
  const end = list.findIndex((entry) => {
    length += JSON.stringify(entry).length + ','.length
    return length > LIST_LENGTH_MAX
  })
  return list.slice(0, end === -1 ? list.length : end)
}
