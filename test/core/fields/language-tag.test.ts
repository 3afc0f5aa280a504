import t from 'tap'
import { languageTag } from '#core/fields/language-tag.ts'

t.test('languages are tags or null', async (t) => {
  t.same(['en', 'pt_br', 'zh-hant-tw', 'EN-us', 'en-US-x-private', 'English', '', null, undefined, 'x'.repeat(5_000)].map(languageTag), [
    'en',
    'pt-BR',
    'zh-Hant-TW',
    'en-US',
    'en',
    null,
    null,
    null,
    null,
    null,
  ])
})
