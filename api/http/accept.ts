/** More than any client sends; the rest of a longer header is ignored. */
const RANGES_MAX = 50

interface Range {
  type: string
  quality: number
}

/** The media ranges of an Accept header with their quality (RFC 9110, 12.5.1); other parameters are ignored. */
const rangesOf = (accept: string): Range[] =>
  accept.split(',', RANGES_MAX).map((part) => {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const quality = parameters.find((text) => text.startsWith('q='))?.slice(2)
    return { type, quality: quality === undefined ? 1 : Number(quality) || 0 }
  })

/** Whether the client names this media type itself and wants it no less than the usual one: browsers name the formats of pictures that they show. */
export function namesType(accept: string | null, mediaType: string, usual: string): boolean {
  if (accept === null) return false
  const ranges = rangesOf(accept)
  const quality = (type: string) => ranges.find((one) => one.type === type)?.quality ?? 0
  return quality(mediaType) > 0 && quality(mediaType) >= quality(usual)
}

/** The range that decides about a media type: its name, else its kind, else any. */
function rangeOf(ranges: readonly Range[], mediaType: string): Range | undefined {
  const kind = `${mediaType.slice(0, mediaType.indexOf('/'))}/*`
  return [mediaType, kind, '*/*'].map((type) => ranges.find((one) => one.type === type)).find((one) => one !== undefined)
}

/**
 * The media type to send: `usual`, unless the client names others that it wants more. A range such as `image/*` accepts the usual type as it is, with any
 * quality: browsers send one beside the formats that they like best, and converting every picture for them would only cost time and quality.
 * @param others what the usual type can be converted to, the first of several alike counts
 */
export function chooseType<const T extends string>(accept: string | null, usual: string, others: readonly T[]): T | null {
  if (accept === null) return null
  const ranges = rangesOf(accept)
  const own = rangeOf(ranges, usual)
  if (own !== undefined && own.type !== usual && own.quality > 0) return null
  let best: { type: T | null; quality: number } = { type: null, quality: own?.quality ?? 0 }
  for (const type of others) {
    const quality = rangeOf(ranges, type)?.quality ?? 0
    if (quality > best.quality) best = { type, quality }
  }
  return best.type
}
