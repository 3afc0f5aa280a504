import type { Direction } from '../pages/page-rules.ts'

export type ReaderAction =
  | 'next'
  | 'previous'
  | 'first'
  | 'last'
  | 'nextBook'
  | 'previousBook'
  | 'single'
  | 'double'
  | 'strip'
  | 'offset'
  | 'direction'
  | 'rotate'
  | 'fitWidth'
  | 'fitHeight'
  | 'fitPage'
  | 'fullScreen'
  | 'zoomIn'
  | 'zoomOut'
  | 'zoomReset'
  | 'overview'
  | 'goTo'
  | 'bars'
  | 'contents'
  | 'search'
  | 'bookmark'
  | 'settings'
  | 'incognito'
  | 'help'
  | 'back'

const KEYS: Record<string, ReaderAction> = {
  ' ': 'next',
  PageDown: 'next',
  PageUp: 'previous',
  Home: 'first',
  End: 'last',
  n: 'nextBook',
  p: 'previousBook',
  1: 'single',
  2: 'double',
  3: 'strip',
  o: 'offset',
  d: 'direction',
  r: 'rotate',
  w: 'fitWidth',
  h: 'fitHeight',
  z: 'fitPage',
  f: 'fullScreen',
  '+': 'zoomIn',
  '=': 'zoomIn',
  '-': 'zoomOut',
  0: 'zoomReset',
  t: 'overview',
  g: 'goTo',
  m: 'bars',
  c: 'contents',
  '/': 'search',
  b: 'bookmark',
  s: 'settings',
  i: 'incognito',
  '?': 'help',
  Escape: 'back',
}

export interface PressedKey {
  key: string
  shiftKey: boolean
  ctrlKey: boolean
  altKey: boolean
  metaKey: boolean
}

/** What a key does; null for keys that belong to the browser. Arrows follow the direction of reading, space with shift goes back. @param hasLetters whether letters, digits and signs are keys */
export function actionOfKey(pressed: PressedKey, direction: Direction, hasLetters = true): ReaderAction | null {
  if (pressed.ctrlKey || pressed.altKey || pressed.metaKey) return null
  const { key, shiftKey } = pressed
  if (key === 'ArrowRight') return direction === 'rtl' ? 'previous' : 'next'
  if (key === 'ArrowLeft') return direction === 'rtl' ? 'next' : 'previous'
  if (direction === 'ttb' && key === 'ArrowDown') return 'next'
  if (direction === 'ttb' && key === 'ArrowUp') return 'previous'
  if (key === ' ' && shiftKey) return 'previous'
  if (key.length === 1 && key !== ' ' && !hasLetters) return null
  const name = key.length === 1 ? key.toLowerCase() : key
  return Object.hasOwn(KEYS, name) ? (KEYS[name] ?? null) : null
}
