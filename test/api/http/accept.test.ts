import t from 'tap'
import { chooseType } from '#api/http/accept.ts'

const choose = (accept: string | null, usual = 'image/jpeg') => chooseType(accept, usual, ['image/jpeg', 'image/png', 'image/webp'])

t.test('a format that is named is chosen, and nothing else changes what is usual', async (t) => {
  t.equal(choose('image/png'), 'image/png')
  t.equal(choose('IMAGE/WEBP'), 'image/webp')
  t.equal(choose('image/jpeg', 'image/gif'), 'image/jpeg')
  t.equal(choose('image/webp, image/png;q=0.9', 'image/avif'), 'image/webp')
  t.equal(choose('image/webp;q=0.3, image/png;q=0.9', 'image/avif'), 'image/png')
  t.equal(choose('image/webp, image/jpeg;q=0.5'), 'image/webp', 'more than the usual one')
  t.equal(choose('image/jpeg;q=0, image/*'), 'image/png', 'anything but the usual one')
  for (const accept of [
    ...[null, '', '*/*', 'image/*', 'image/jpeg', 'image/webp, image/jpeg', 'image/png;q=0', 'image/webp;q=x'],
    ...['application/json', 'text/html', ';;;,,,', 'image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5'],
    'image/webp,*/*;q=0.1',
  ])
    t.equal(choose(accept), null, String(accept))
})
