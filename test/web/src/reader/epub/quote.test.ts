import t from 'tap'
import { findQuote, quoteAt } from '../../../../../web/src/reader/epub/quote.ts'

const text = 'He wrote it down.\n  The left one kept to the facts. He wrote it down again, and the right one added wind.'

t.test('a quote is found where it was made, whatever the spaces around it', async (t) => {
  const at = text.indexOf('The left')
  const quote = quoteAt(text, at)
  t.equal(findQuote(text, quote, 0)?.at, at)
  t.equal(findQuote(text.replaceAll(' ', '\n\t '), quote, 0)?.at, text.replaceAll(' ', '\n\t ').indexOf('The\n\t left'))
})

t.test('of several places the one after the same words is it, else the nearest', async (t) => {
  const second = text.lastIndexOf('He wrote')
  t.equal(findQuote(text, { before: 'kept to the facts. ', highlight: 'He wrote it down' }, 0)?.at, second)
  t.equal(findQuote(text, { before: 'not there', highlight: 'He wrote it down' }, 5)?.at, 0)
  t.equal(findQuote(text, { highlight: 'He wrote it down' }, 60)?.at, second)
})

t.test('words that another edition lacks are not found', async (t) => {
  t.equal(findQuote(text, { highlight: 'Four boats went out' }, 0), null)
  t.equal(findQuote(text, { highlight: '  ' }, 0), null)
})

t.test('a quote is as long as it stands in the text, with its spaces', async (t) => {
  t.same(findQuote(text, { highlight: 'down. The left' }, 0), { at: text.indexOf('down.'), length: 'down.\n  The left'.length })
})
