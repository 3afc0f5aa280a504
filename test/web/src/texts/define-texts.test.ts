import t from 'tap'

// Texts look at the address of the page for the pseudo language. By address, because types of browsers are not among those of tests.
Object.assign(globalThis, { location: { search: '' } })
const { defineTexts } = await import(new URL('../../../../web/src/texts/define-texts.ts', import.meta.url).href)

t.test('a value in quotation marks cannot end them by itself, and others are written as they are', async (t) => {
  const texts = defineTexts({ done: '"{name}" works for you', both: '{count} of "{name}" by {by}' })
  t.equal(texts.done({ name: 'Taste' }), '"Taste" works for you')
  t.equal(texts.done({ name: 'Taste" is removed. "Carrel' }), '"Taste\\" is removed. \\"Carrel" works for you')
  t.equal(texts.done({}), '"{name}" works for you', 'a value that is missing')
  t.equal(texts.both({ count: 1_000, name: 'A "B"', by: 'C "D"' }), '1,000 of "A \\"B\\"" by C "D"')
})
