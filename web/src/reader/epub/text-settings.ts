import { readSettings } from '../shared/levels.ts'

/** How the text of an EPUB is shown. */
export interface TextSettings {
  paper: 'paper' | 'sepia' | 'night' | 'black'
  face: 'serif' | 'oldstyle' | 'sans' | 'fixed' | 'dyslexia' | 'book'
  /** In CSS pixels. */
  size: number
  lineHeight: number
  align: 'justify' | 'start' | 'book'
  hyphens: boolean
  flow: 'one' | 'two' | 'scroll' | 'screen'
  /** Of a line, in letters. */
  measure: number
  /** In percent of the screen. */
  margin: number
  publisherStyles: boolean
}

export const TEXT_DEFAULTS: TextSettings = {
  paper: 'paper',
  face: 'serif',
  size: 19,
  lineHeight: 1.58,
  align: 'justify',
  hyphens: true,
  flow: 'screen',
  measure: 66,
  margin: 5,
  publisherStyles: true,
}

export const TEXT_CHOICES = {
  paper: ['paper', 'sepia', 'night', 'black'],
  face: ['serif', 'oldstyle', 'sans', 'fixed', 'dyslexia', 'book'],
  size: { min: 12, max: 36 },
  lineHeight: { min: 1.1, max: 2.4 },
  align: ['justify', 'start', 'book'],
  hyphens: [true, false],
  flow: ['one', 'two', 'scroll', 'screen'],
  measure: { min: 36, max: 90 },
  margin: { min: 0, max: 15 },
  publisherStyles: [true, false],
} as const

/** @returns the settings that are understood */
export const readTextSettings = (value: unknown): Partial<TextSettings> => readSettings<TextSettings>(value, TEXT_CHOICES)
