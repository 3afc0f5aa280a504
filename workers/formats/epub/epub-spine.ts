import { SPREAD_SIDES, type SpreadSide } from '#core/reading/publication.ts'
import { childrenNamed, type XmlElement } from '../../metadata/xml.ts'
import type { ZipEntry } from '../zip/zip.ts'

/** A resource in the manifest. `path` is the archive path; `entry` is undefined when the archive lacks it. */
export interface ManifestItem {
  id: string
  path: string
  mediaType: string
  properties: readonly string[]
  entry: ZipEntry | undefined
}

/** The reading order. Pages, positions and manifests all follow it. */
export interface Spine {
  /** Items whose file the archive has, each at its first reference: a reading order names a file once, and what is missing cannot be read. */
  items: readonly ManifestItem[]
  /** The side of the spread for each item, by index; undefined where the package does not set it. */
  sides: readonly (SpreadSide | undefined)[]
  /** The index of the item of each reference that was not left out as missing. */
  references: readonly number[]
  /** What references lead to nothing in the file: paths, addresses of other hosts, and ids that the manifest lacks. */
  missing: readonly string[]
}

/** Reads the references of a spine. Files are equal by their entry, whatever the manifest calls them. */
export function readSpine(spine: XmlElement | undefined, manifest: readonly ManifestItem[]): Spine {
  const byId = new Map(manifest.map((item) => [item.id, item]))
  const items: ManifestItem[] = []
  const sides: (SpreadSide | undefined)[] = []
  const references: number[] = []
  const missing: string[] = []
  const placed = new Map<ManifestItem['entry'], number>()
  for (const reference of spine === undefined ? [] : childrenNamed(spine, 'itemref')) {
    const id = reference.attributes.get('idref') ?? ''
    const item = byId.get(id)
    if (item?.entry === undefined) {
      missing.push(item?.path ?? id)
      continue
    }
    const known = placed.get(item.entry)
    references.push(known ?? items.length)
    if (known !== undefined) continue
    placed.set(item.entry, items.length)
    items.push(item)
    sides.push(sideOf(reference))
  }
  return { items, sides, references, missing }
}

/** Whether the references of a spine say that every page has a fixed layout; those outside the reading order (`linear="no"`) count only if there are no others. */
export function isPrePaginated(spine: XmlElement | undefined): boolean {
  const references = spine === undefined ? [] : childrenNamed(spine, 'itemref')
  const linear = references.filter((reference) => reference.attributes.get('linear')?.trim().toLowerCase() !== 'no')
  const counted = linear.length > 0 ? linear : references
  return counted.length > 0 && counted.every((reference) => propertiesOf(reference).includes('rendition:layout-pre-paginated'))
}

const propertiesOf = (reference: XmlElement) => (reference.attributes.get('properties') ?? '').split(/\s+/)

/** EPUB 3 writes `page-spread-left`, or the same with the prefix `rendition:`. */
function sideOf(reference: XmlElement): SpreadSide | undefined {
  const properties = propertiesOf(reference)
  return SPREAD_SIDES.find((side) => properties.some((property) => property.replace('rendition:', '') === `page-spread-${side}`))
}
