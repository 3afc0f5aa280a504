import t from 'tap'
import { readIsbns } from '#core/fields/isbn.ts'

t.test('ISBNs are read in every spelling, and their check digits are checked', async (t) => {
  const good: [string, string[]][] = [
    ['9780930289232', ['9780930289232']],
    ['978-0-930289-23-2', ['9780930289232']],
    ['0-8044-2957-x', ['080442957X']],
    ['ISBN 0930289234; urn:isbn:9780930289232', ['0930289234', '9780930289232']],
    ['ISBN-13: 978 0 930289 23 2, ISBN-10: 0930289234', ['9780930289232', '0930289234']],
    ['978\u20110\u2011930289\u201123\u20112', ['9780930289232']],
    ['9791090636071, 9791090636071', ['9791090636071']],
    [' , ;', []],
  ]
  for (const [text, valid] of good) t.same(readIsbns(text), { valid, invalid: [] }, text)
  const bad = [
    '9780930289233',
    '0930289235',
    '9770930289232',
    '978093028923',
    '97809302892320',
    'X930289234',
    '９７８0930289232',
    'none',
    '-',
  ]
  for (const text of bad) t.same(readIsbns(text), { valid: [], invalid: [text] }, text)
  t.same(readIsbns(`9780930289233, 0930289234`), { valid: ['0930289234'], invalid: ['9780930289233'] })
})

t.test('an ISBN with one changed digit, or an ISBN-10 with two swapped neighbors, is invalid', async (t) => {
  for (const isbn of ['9780930289232', '0930289234']) {
    for (let index = 0; index < isbn.length; index++) {
      for (let digit = 0; digit < 10; digit++) {
        const changed = `${isbn.slice(0, index)}${digit}${isbn.slice(index + 1)}`
        if (changed !== isbn && readIsbns(changed).valid.length > 0) t.fail(`${changed} passed`)
      }
      const [one, two] = [isbn[index], isbn[index + 1]]
      if (isbn.length !== 10 || two === undefined || one === two) continue
      const exchanged = `${isbn.slice(0, index)}${two}${one}${isbn.slice(index + 2)}`
      t.same(readIsbns(exchanged).valid, [], exchanged)
    }
  }
})
