import t from 'tap'
import { editOf, formOf, layoutEditOf, NEW_FORM, namingEditOf, newLibraryOf } from '../../../../../web/src/admin/libraries/library-form.ts'
import type { LibraryRecord } from '../../../../../web/src/api/records.ts'

const library = {
  name: 'Comics',
  seriesStrategy: 'flat',
  seriesConfig: { requireMetadata: false },
  bookStrategy: 'custom',
  bookConfig: { pattern: '(?P<title>.+)', titleTemplate: '{title}' },
  numberStrategy: 'smart',
  numberConfig: null,
  defaultReadingDirection: 'rtl',
  allowedFormats: ['cbz'],
  excludedPatterns: '**/extras/**',
  scanningConfig: { enabled: false, scanMode: 'deep', purgeDeletedOnScan: true },
} as unknown as LibraryRecord

t.test('a library that is saved as it is keeps its layout, and what no field shows', async (t) => {
  const form = formOf(library)
  t.equal(layoutEditOf(library, form), null, 'a setting that names what the server does anyway is no change')
  t.same(namingEditOf(library, form), { book: null, number: null })
  t.same(editOf(library, form), {
    name: 'Comics',
    allowedFormats: ['cbz'],
    defaultReadingDirection: 'rtl',
    excludedPatterns: '**/extras/**',
    scanningConfig: {
      ...{ enabled: false, scanMode: 'deep', purgeDeletedOnScan: true },
      ...{ scanOnStart: false, cronSchedule: null, cronTimezone: null, watch: 'auto', pollMinutes: null },
    },
  })
})

t.test('an interval is sent only for a library that is polled', async (t) => {
  const polled = { ...formOf(library), watch: 'poll' as const, pollMinutes: 15 }
  t.match(editOf(library, polled).scanningConfig, { watch: 'poll', pollMinutes: 15 })
  t.match(editOf(library, { ...polled, watch: 'off' }).scanningConfig, { watch: 'off', pollMinutes: null })
  const stored = { ...library, scanningConfig: { enabled: true, scanMode: 'normal', watch: 'poll', pollMinutes: 15 } } as LibraryRecord
  t.match(formOf(stored), { watch: 'poll', pollMinutes: 15 })
})

t.test('only what is different is sent, with all settings of the way', async (t) => {
  const form = formOf(library)
  t.same(layoutEditOf(library, { ...form, seriesConfig: { requireMetadata: true } }), {
    seriesStrategy: 'flat',
    seriesConfig: { requireMetadata: true },
  })
  t.same(layoutEditOf(library, { ...form, seriesStrategy: 'auto', seriesConfig: {} }), { seriesStrategy: 'auto', seriesConfig: {} })
  t.match(editOf(library, { ...form, numberStrategy: 'file_order', numberConfig: { start: 0 } }), {
    numberStrategy: 'file_order',
    numberConfig: { start: 0 },
    bookStrategy: undefined,
    seriesStrategy: undefined,
  })
  t.match(editOf(library, { ...form, bookStrategy: 'filename', bookConfig: {} }), { bookStrategy: 'filename', bookConfig: {} })
})

t.test('a new library has what was entered', async (t) => {
  const made = newLibraryOf({ ...NEW_FORM, name: ' Manga ', formats: ['cbz', 'pdf'], excluded: ' ', isOnStart: false }, '/books/Manga')
  t.match(made, { name: 'Manga', path: '/books/Manga', seriesStrategy: 'auto', allowedFormats: ['cbz', 'pdf'], excludedPatterns: null })
  t.match(made.scanningConfig, { enabled: true, scanOnStart: false, cronSchedule: null })
  t.equal(newLibraryOf({ ...NEW_FORM, name: 'All' }, '/books').allowedFormats, null)
})
