import { isElement, type XmlElement } from '../../metadata/xml.ts'
import type { PageStyles } from './page-styles.ts'

/** Visible elements that are neither text nor a picture: a page with one of these is more than its picture. */
const SHOWN_ELEMENTS = new Set(
  'audio button canvas circle ellipse embed foreignobject hr iframe input line math object path polygon polyline rect select textarea use video'.split(
    ' ',
  ),
)

/** Titles, descriptions and styles are not visible, nor what is only drawn where another element refers to it. */
const HIDDEN_ELEMENTS = new Set('title desc style script defs metadata clippath mask symbol pattern marker'.split(' '))

const SHAPES = new Set('circle ellipse line path polygon polyline rect'.split(' '))

/** What decides whether a shape is visible; elements in one another pass it on. */
const PAINT = ['fill', 'fill-opacity', 'stroke', 'stroke-opacity', 'stroke-width', 'opacity'] as const
type Paint = Partial<Record<(typeof PAINT)[number], string | undefined>>

/** No color, or white in one of its notations: pages are white without it. */
const WHITE =
  /^(?:none|transparent|white|#f{3}[\da-f]?|#f{6}(?:[\da-f]{2})?|rgba?\(\s*(?:255|100%)(?:[\s,]+(?:255|100%)){2}(?![\d.])[^)]*\))$/i

/** What a page without pictures shows: nothing, words alone, or (undefined) something else, such as a drawing. @param styles undefined if they are unknown */
export function shownBesidesPictures(body: XmlElement, styles: PageStyles | undefined): 'nothing' | 'words' | undefined {
  if (styles === undefined || showsElements(body, styles) || styles.mayShowPicture()) return undefined
  return showsWords(body) ? 'words' : 'nothing'
}

/** Whether it shows anything besides pictures, be it white. */
export function showsMore(body: XmlElement): boolean {
  return showsWords(body) || showsElements(body)
}

function showsWords(element: XmlElement): boolean {
  return element.children.some((child) =>
    isElement(child) ? !HIDDEN_ELEMENTS.has(child.name.toLowerCase()) && showsWords(child) : /[^\s\u200B-\u200D\uFEFF]/.test(child),
  )
}

/** Whether it shows anything besides words and pictures. With styles, shapes that cannot be seen on white do not count. */
function showsElements(element: XmlElement, styles?: PageStyles, inherited: Paint = {}): boolean {
  const name = element.name.toLowerCase()
  if (HIDDEN_ELEMENTS.has(name)) return false
  const paint = styles && paintOf(element, styles, inherited)
  if (SHOWN_ELEMENTS.has(name) && !(paint && SHAPES.has(name) && isUnseen(paint))) return true
  return element.children.some((child) => isElement(child) && showsElements(child, styles, paint))
}

function paintOf(element: XmlElement, styles: PageStyles, inherited: Paint): Paint {
  const paint: Paint = {}
  for (const property of PAINT) {
    const value = styles.valueOf(element, property)?.trim()
    paint[property] = value === undefined || value.toLowerCase() === 'inherit' ? inherited[property] : value
  }
  return paint
}

/** Shapes are filled with black and have no line, unless they say otherwise (SVG 2, 13). */
function isUnseen(paint: Paint): boolean {
  const { fill = 'black', stroke = 'none', opacity } = paint
  const hasNoFill = WHITE.test(fill) || isZero(paint['fill-opacity'])
  const hasNoLine = WHITE.test(stroke) || isZero(paint['stroke-opacity']) || isZero(paint['stroke-width'])
  return isZero(opacity) || (hasNoFill && hasNoLine)
}

const isZero = (value = '') => Number.parseFloat(value) === 0
