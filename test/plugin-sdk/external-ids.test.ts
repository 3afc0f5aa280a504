import t from 'tap'
import { externalIdOf } from '../../plugin-sdk/index.ts'

t.test('an identifier is found under any of its keys', async (t) => {
  const ids = { 'plugin:anilist': '1', anilist: '2', mal: '3', 'api:kitsu': '4' }
  t.equal(externalIdOf(ids, 'anilist'), '1')
  t.equal(externalIdOf(ids, 'myanimelist', 'mal'), '3')
  t.equal(externalIdOf(ids, 'kitsu'), '4')
  for (const name of ['goodreads', 'toString', '__proto__']) t.equal(externalIdOf(ids, name), undefined, name)
  t.equal(externalIdOf(undefined, 'anilist'), undefined)
})
