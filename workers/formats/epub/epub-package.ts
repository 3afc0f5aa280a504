import type { Problem } from '#core/fields/analysis.ts'
import type { Embedded } from '#core/fields/embedded.ts'
import { addFolded, decodePercents, foldPath, normalizeArchivePath } from '#core/reading/publication.ts'
import { BookProblem } from '../../book-problem.ts'
import { Remarks } from '../../metadata/metadata-values.ts'
import { readOpfMetadata } from '../../metadata/opf-metadata.ts'
import type { XmlDocument, XmlElement } from '../../metadata/xml.ts'
import { childrenNamed, descendantsNamed, findDescendant, parseXml, textOf, XML_BYTES_MAX, XmlError } from '../../metadata/xml.ts'
import type { ZipArchive, ZipEntry } from '../zip/zip.ts'
import { isPrePaginated, type ManifestItem, readSpine, type Spine } from './epub-spine.ts'
import { EpubTexts } from './epub-texts.ts'

/** The package document, resolved against the archive. */
export interface EpubPackage {
  embedded: Embedded
  /** The parts of the metadata that could not be used. */
  metadataProblem: Problem | null
  /** Names of undeclared or DTD-declared entities, left as written. */
  unknownEntities: readonly string[]
  fixedLayout: boolean
  manifest: readonly ManifestItem[]
  spine: Spine
  /** The manifest id of the NCX as the spine names it. */
  ncxId: string | undefined
  /** The texts so far: those of the archive and the package. */
  texts: EpubTexts
  /** EPUB 2's `<meta name="cover" content="…">`, as written. */
  coverMeta: string | undefined
  /** The guide's cover page or picture. */
  guideCover: ZipEntry | undefined
  /** Resolves an href; `from` is the archive path of the file that contains it. The fragment is what follows the path, from `#` on, or empty. */
  resolve: (href: string, from: string) => { path: string; entry: ZipEntry | undefined; fragment: string } | undefined
}

/**
 * Finds the package document through META-INF/container.xml. Throws {@link BookProblem}: `parser` when either is missing or names are too long together,
 * `metadata` when it is not XML.
 */
export function readEpubPackage(archive: ZipArchive): EpubPackage {
  const texts = new EpubTexts()
  for (const { name } of archive.entries) texts.add(name)
  const find = entryFinder(archive)
  const resolve = hrefResolver(find)
  const opfPath = findPackagePath(archive, find)
  const opfEntry = find(opfPath)
  if (opfEntry === undefined) {
    throw new BookProblem('parser', `The package document "${opfPath}" that this EPUB names is not in it.`, { path: opfPath })
  }
  const document = readXml(archive, opfEntry, 'metadata', 'The package document of this EPUB cannot be read')
  const manifest = readManifest(document.root, (href) => resolve(href, opfEntry.name), texts)
  const metadata = findDescendant(document.root, 'metadata')
  const remarks = new Remarks()
  const listed = findDescendant(document.root, 'spine')
  const spine = readSpine(listed, manifest)
  for (const item of spine.items) texts.addPath(item.path)
  return {
    embedded: readOpfMetadata(document.root, document.unknownEntities, remarks),
    metadataProblem: remarks.problem(`The package document "${opfPath}"`),
    unknownEntities: document.unknownEntities,
    fixedLayout: saysFixedLayout(metadata) || isPrePaginated(listed) || optionFileSaysFixedLayout(archive, find),
    manifest,
    spine,
    ncxId: listed?.attributes.get('toc'),
    texts,
    coverMeta: metas(metadata)
      .find((meta) => meta.attributes.get('name')?.toLowerCase() === 'cover')
      ?.attributes.get('content'),
    guideCover: findGuideCover(document.root, (href) => resolve(href, opfEntry.name)?.entry),
    resolve,
  }
}

/** Reads and parses one XML entry; the error has this `type`, and its message begins with `failure`. */
function readXml(archive: ZipArchive, entry: ZipEntry, type: 'parser' | 'metadata', failure: string): XmlDocument {
  try {
    return parseXml(archive.read(entry, XML_BYTES_MAX))
  } catch (error) {
    if (error instanceof XmlError) throw new BookProblem(type, `${failure}: ${error.message}.`, { entry: entry.name })
    if (error instanceof BookProblem) throw new BookProblem('parser', `${failure}: ${error.message}`, { entry: entry.name })
    throw error
  }
}

function findPackagePath(archive: ZipArchive, find: (path: string) => ZipEntry | undefined): string {
  const container = find('META-INF/container.xml')
  if (container === undefined) {
    throw new BookProblem('parser', 'This EPUB has no META-INF/container.xml, which says where its content is.')
  }
  const { root } = readXml(archive, container, 'parser', 'META-INF/container.xml of this EPUB cannot be read')
  const rootFiles = [...descendantsNamed(root, 'rootfile')].filter((file) => file.attributes.get('full-path'))
  const packages = rootFiles.filter((file) => file.attributes.get('media-type') === 'application/oebps-package+xml')
  const fullPath = (packages[0] ?? rootFiles[0])?.attributes.get('full-path')
  const path = fullPath === undefined ? undefined : normalizeArchivePath(fullPath)
  if (path === undefined || path === '') throw new BookProblem('parser', 'META-INF/container.xml of this EPUB names no package document.')
  return path
}

function readManifest(
  root: XmlElement,
  resolve: (href: string) => { path: string; entry: ZipEntry | undefined } | undefined,
  texts: EpubTexts,
): ManifestItem[] {
  const listed = findDescendant(root, 'manifest')
  if (listed === undefined) return []
  return childrenNamed(listed, 'item').map((item) => {
    const href = item.attributes.get('href') ?? ''
    const found = resolve(href)
    texts.addPath(found?.path ?? href)
    return {
      id: item.attributes.get('id') ?? '',
      path: found?.path ?? href,
      mediaType: (item.attributes.get('media-type') ?? '').trim().toLowerCase(),
      properties: (item.attributes.get('properties') ?? '').split(/\s+/).filter((property) => property !== ''),
      entry: found?.entry,
    }
  })
}

function metas(metadata: XmlElement | undefined): XmlElement[] {
  return metadata === undefined ? [] : [...descendantsNamed(metadata, 'meta')]
}

/** EPUB 3 says it with `property`, files of its first years with `name`, Kindle sources with `fixed-layout`. */
function saysFixedLayout(metadata: XmlElement | undefined): boolean {
  return metas(metadata).some((meta) => {
    const refinesOneItem = meta.attributes.has('refines')
    const key = meta.attributes.get('property') ?? meta.attributes.get('name')
    const value = (meta.attributes.get('content') ?? textOf(meta)).trim().toLowerCase()
    return !refinesOneItem && ((key === 'rendition:layout' && value === 'pre-paginated') || (key === 'fixed-layout' && value === 'true'))
  })
}

const OPTION_FILES = ['META-INF/com.apple.ibooks.display-options.xml', 'META-INF/com.kobobooks.display-options.xml']

/** The option file that iBooks and Kobo read before EPUB 3 had a property. A broken option file is ignored. */
function optionFileSaysFixedLayout(archive: ZipArchive, find: (path: string) => ZipEntry | undefined): boolean {
  return OPTION_FILES.some((path) => {
    const entry = find(path)
    if (entry === undefined) return false
    try {
      const options = [...descendantsNamed(parseXml(archive.read(entry, XML_BYTES_MAX)).root, 'option')]
      return options.some((option) => option.attributes.get('name') === 'fixed-layout' && textOf(option).trim().toLowerCase() === 'true')
    } catch (error) {
      if (error instanceof XmlError || error instanceof BookProblem) return false
      throw error
    }
  })
}

function findGuideCover(root: XmlElement, find: (href: string) => ZipEntry | undefined): ZipEntry | undefined {
  const guide = findDescendant(root, 'guide')
  const references = guide === undefined ? [] : childrenNamed(guide, 'reference')
  const cover = references.find((reference) => reference.attributes.get('type')?.toLowerCase() === 'cover')
  return find(cover?.attributes.get('href') ?? '')
}

/** By exact name, else by its folded form. */
function entryFinder(archive: ZipArchive): (path: string) => ZipEntry | undefined {
  let folded: Map<string, ZipEntry> | undefined
  return (path) => {
    const exact = archive.find(path)
    if (exact !== undefined) return exact
    if (folded === undefined) {
      folded = new Map()
      for (const entry of archive.entries) addFolded(folded, entry.name, entry)
    }
    return folded.get(foldPath(path))
  }
}

/** What resolves an href as an address; if nothing is there, by the whole href, or all of it before its last `#`: some programs do not encode `?`, `#` and `:`. */
function hrefResolver(find: (path: string) => ZipEntry | undefined): EpubPackage['resolve'] {
  return (href, from) => {
    const path = resolveHref(href, from)
    const hash = href.indexOf('#')
    const usual = path === undefined ? undefined : { path, entry: find(path), fragment: hash < 0 ? '' : href.slice(hash) }
    if (usual?.entry !== undefined || !/[?#:]/.test(href)) return usual
    for (const end of [href.length, href.lastIndexOf('#')].filter((at) => at > 0)) {
      const name = pathIn(href.slice(0, end).trim(), from)
      const entry = find(name)
      if (entry !== undefined) return { path: name, entry, fragment: href.slice(end) }
    }
    return usual
  }
}

/** The archive path of `href` in the file `from`; undefined for other schemes (`http:`, `data:`) and for links into the file itself (`#note`). */
export function resolveHref(href: string, from: string): string | undefined {
  const path = href.trim().split(/[?#]/, 1)[0] as string
  if (path === '' || /^[a-z][a-z0-9+.-]*:/i.test(path) || path.startsWith('//')) return undefined
  return pathIn(path, from)
}

function pathIn(path: string, from: string): string {
  const folder = path.startsWith('/') ? '' : from.slice(0, from.lastIndexOf('/') + 1)
  return normalizeArchivePath(folder + decodePercents(path))
}
