import { readSettings } from '../shared/levels.ts'
import { ROTATIONS, type Rotation } from './page-rules.ts'

/** How pages of comics and PDFs are shown. */
export interface PageSettings {
  layout: 'single' | 'double' | 'strip' | 'screen'
  /** `record`: as the book or its series says. */
  direction: 'ltr' | 'rtl' | 'ttb' | 'record'
  fit: 'page' | 'width' | 'height' | 'original'
  wide: 'whole' | 'split' | 'turned'
  /** In degrees to the right. */
  rotation: Rotation
  coverAlone: boolean
  /** Between the pages of a strip, in CSS pixels. */
  gap: number
  /** Of a strip, in percent of the screen. */
  stripWidth: number
  /** In percent. */
  brightness: number
  contrast: number
  invert: boolean
  desk: 'theme' | 'light' | 'gray' | 'black'
}

export const PAGE_DEFAULTS: PageSettings = {
  layout: 'screen',
  direction: 'record',
  fit: 'page',
  wide: 'whole',
  rotation: '0',
  coverAlone: true,
  gap: 0,
  stripWidth: 60,
  brightness: 100,
  contrast: 100,
  invert: false,
  desk: 'theme',
}

export const PAGE_CHOICES = {
  layout: ['single', 'double', 'strip', 'screen'],
  direction: ['ltr', 'rtl', 'ttb', 'record'],
  fit: ['page', 'width', 'height', 'original'],
  wide: ['whole', 'split', 'turned'],
  rotation: ROTATIONS,
  coverAlone: [true, false],
  gap: { min: 0, max: 64 },
  stripWidth: { min: 20, max: 100 },
  brightness: { min: 20, max: 120 },
  contrast: { min: 50, max: 150 },
  invert: [true, false],
  desk: ['theme', 'light', 'gray', 'black'],
} as const

/** @returns the settings that are understood */
export const readPageSettings = (value: unknown): Partial<PageSettings> => readSettings<PageSettings>(value, PAGE_CHOICES)
