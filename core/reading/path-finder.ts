import { normalizeText } from '#core/foundation/text.ts'

/** The longest name with which an archive is read. */
const PATH_LENGTH_MAX = 4_096
const fold = (path: string) => normalizeText(path, PATH_LENGTH_MAX).toLowerCase()

/** Text that is not percent-encoded, such as "100%.xhtml", stays as it is. */
export function decodePercents(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * Finds files of an archive by path: by the exact one, else ignoring case and Unicode form, because names in books made on Windows and Macs differ in both from
 * their links; else one whose name is percent-encoded in the archive itself, as some programs write it.
 */
export function openPathFinder<File>(files: readonly File[], pathOf: (file: File) => string): (path: string) => File | undefined {
  const mapBy = (some: readonly File[], keyOf: (path: string) => string) => new Map(some.map((file) => [keyOf(pathOf(file)), file]))
  const exact = mapBy(files, (path) => path)
  let folded: Map<string, File> | undefined
  let decoded: Map<string, File> | undefined
  return (path) => {
    const found = exact.get(path)
    if (found !== undefined) return found
    folded ??= mapBy(files, fold)
    const similar = folded.get(fold(path))
    if (similar !== undefined) return similar
    const isEncoded = (file: File) => pathOf(file).includes('%')
    decoded ??= mapBy(files.filter(isEncoded), (name) => fold(decodePercents(name)))
    return decoded.get(fold(decodePercents(path)))
  }
}
