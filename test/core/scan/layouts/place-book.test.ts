import t from 'tap'
import { fieldsOfPlaced } from '#core/fields/placed-values.ts'
import { placedBook } from '#core/scan/layouts/place-book.ts'
import { layoutOf } from '#core/scan/layouts/series-config.ts'
import { placeTree } from '#test/support/place-tree.ts'

/** What the row of one file of a tree says. */
function rowOf(path: string, strategy = 'auto') {
  const [place] = placeTree(layoutOf(strategy, null), [path]).values()
  const fileName = path.slice(path.lastIndexOf('/') + 1)
  const placed = placedBook(fileName, place as NonNullable<typeof place>)
  const { title: _, ...numbers } = fieldsOfPlaced(fileName, placed)
  return { ...numbers, isSide: placed.isSide, layoutValues: placed.layoutValues }
}

t.test('digits in the name of the series are none of its books', async (t) => {
  const table: [path: string, number: number | null, volume?: number][] = [
    ['Zom 100/Zom 100.cbz', null],
    ['Zom 100/Zom 100 05.cbz', 5],
    ['Zom 100 (2021)/Zom 100 v05.cbz', 5, 5],
    ['Zom 100/Vol 2/Zom 100 - 03.cbz', 3, 2],
    ['Zom 100/Vol 2/Zom 100.cbz', 2, 2],
    ['Publisher/100 Bullets (1999)/100 Bullets 012 (2000).cbz', 12],
    ['Saga (2012)/Saga 012 (2012).cbz', 12],
    ['Batman/Zom 100.cbz', 100],
    ['Zom 100.cbz', 100],
  ]
  for (const [path, number, volume = null] of table) t.match(rowOf(path), { number, volume, isSide: false }, path)
  t.equal(rowOf('Saga (2012)/Saga 012 (2012).cbz').layoutValues, null, 'rows keep the folder only where it makes a difference')
})

t.test('a number before a title counts behind the name of the series, whatever else is in its folder', async (t) => {
  const table: [path: string, number: number | null][] = [
    ['Thorgal/05 Le Sceptre.cbz', 5],
    ['Thorgal/12 Le Tresor.cbz', 12],
    ["BD/Hergé - Tintin/Tintin 10 L'Etoile (1942).cbr", 10],
    ['Isnogoud/Isnogoud-10-Titre.cbr', 10],
    ['Bat (2016)/Bat 10 Everyone Loves Part Two (2018) - Writer.cbz', 10],
    ['Bat/Bat 100 Bar.cbz', 100],
    ['Bat/Catch 22 Again.cbz', null],
    ['Robot/Robot 2099 Rising.cbz', null],
    ['12 Monkeys/12 Monkeys.cbz', null],
    ['12 Monkeys.cbz', null],
    ['Oneshots/12 Monkeys.cbz', null],
  ]
  for (const [path, number] of table) t.equal(rowOf(path).number, number, path)
  t.same(rowOf('Bat/Bat 100 Bar.cbz').layoutValues, { folder: 'Bat' })
  t.equal(rowOf('Bat/Bat 099 Foo.cbz').layoutValues, null)
  t.equal(rowOf('Author/Book (1)/12 Monkeys - Author.epub', 'calibre').number, null)
})

t.test('specials stand beside the numbered books, unless a number places them among these', async (t) => {
  const table: [path: string, isSide: boolean, number: number | null][] = [
    ['Batman/Batman Annual 02 (2019).cbz', true, null],
    ['Love Hina/Love Hina - Special.cbz', true, null],
    ['Love Hina/Love_Hina_Side_Story_02.cbz', true, null],
    ['Gintama/SP01.cbz', true, null],
    ['ナルト/ナルト 番外編.cbz', true, null],
    ['Love Hina/Love Hina v05 Extra.cbz', false, 5],
    ['Naruto/Naruto 700.5 - Special.cbz', false, 700.5],
    ['Batman Annual (2016)/Batman Annual 02 (2019).cbz', false, 2],
    ['X-Men Annuals/X-Men Annual 02.cbz', false, 2],
    ['Special Exits/Special Exits 2.cbz', false, 2],
    ['Batman Annual 02.cbz', false, 2],
  ]
  for (const [path, isSide, number] of table) t.match(rowOf(path), { isSide, number }, path)
})
