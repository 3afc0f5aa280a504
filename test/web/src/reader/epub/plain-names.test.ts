import t from 'tap'
import { importsOf, plainNames } from '../../../../../web/src/reader/epub/plain-names.ts'

t.test('Names of EPUB 3.0 and of WebKit for vertical writing become the names of today, and no others change', async (t) => {
  t.equal(
    plainNames('html{-epub-writing-mode:vertical-rl;-webkit-writing-mode: vertical-rl}'),
    'html{writing-mode:vertical-rl;writing-mode: vertical-rl}',
  )
  t.equal(plainNames('.d { -webkit-text-emphasis-style: filled sesame }'), '.d { text-emphasis-style: filled sesame }')
  t.equal(plainNames('.y { -epub-text-combine : horizontal; }'), '.y { text-combine-upright: all; }')
  const others = '.o { -epub-hyphens: auto; -webkit-line-clamp: 2; } .-epub-writing-mode-note { color: red }'
  t.equal(plainNames(others), others)
})

t.test('Imports of styles are found in every form', async (t) => {
  t.same(importsOf(`@charset "UTF-8"; @import "a.css"; @import url(b.css); @import url( 'c.css' ) screen;`), ['a.css', 'b.css', 'c.css'])
})
