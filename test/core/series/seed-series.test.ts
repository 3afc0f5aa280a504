import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { comic, openHouse } from '#test/support/house.ts'
import { buildZip } from '#test/support/zip-builder.ts'

t.setTimeout(60_000)

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const described = (publisher: string, number: number) =>
  buildZip([
    { name: '1.gif', data: PIXEL },
    { name: 'ComicInfo.xml', data: Buffer.from(`<ComicInfo><Publisher>${publisher}</Publisher><Number>${number}</Number></ComicInfo>`) },
  ])

t.test('a series knows what all its books say, whichever of them is analysed last', async (t) => {
  const house = await openHouse(t)
  for (let number = 1; number <= 12; number++) house.put(`Mixed/${number}.cbz`, described(number % 4 === 0 ? 'Guest' : 'House', number))
  house.put('Mixed/13 plain.cbz', comic('plain'))
  house.put('Mixed/14 broken.cbz', 'this is no archive')
  await house.scan()
  const seriesOf = async (path: string) => await house.database('series').where({ path }).first('id', 'seed_due')
  const publisherOf = async (path: string) => {
    const { id } = await seriesOf(path)
    return (await house.database('series_metadata').where('series_id', id).first('publisher'))?.publisher ?? null
  }
  t.equal(await publisherOf('Mixed'), 'House', 'what most of them say')
  t.equal((await seriesOf('Mixed')).seed_due, false, 'nothing is left to do')

  // As a kill -9 between the last book and the series leaves it.
  const { id } = await seriesOf('Mixed')
  await house.database('series_metadata').where('series_id', id).update({ publisher: 'Guest' })
  await house.database('series').where({ id }).update({ seed_due: true })
  await house.scan()
  t.equal(await publisherOf('Mixed'), 'House', 'the next scan does what was left over')
  t.equal((await seriesOf('Mixed')).seed_due, false)

  house.put('Mixed/1.cbz', described('Guest', 1))
  await house.scan()
  t.equal(await publisherOf('Mixed'), 'House', 'one changed book is heard at once and does not outvote the rest')

  // Books that leave take their word with them.
  for (const number of [2, 3, 5, 6, 7, 9, 10, 11]) {
    house.put('Other/stays.cbz', comic('other'))
    renameSync(join(house.root, `Mixed/${number}.cbz`), join(house.root, `Other/${number}.cbz`))
  }
  await house.scan()
  t.equal(await publisherOf('Other'), 'House')
  t.equal(await publisherOf('Mixed'), 'Guest', 'the series they left says what those say that stayed')
})
