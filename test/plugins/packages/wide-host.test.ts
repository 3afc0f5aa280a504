import t from 'tap'
import { isTooWide } from '#plugins/packages/wide-host.ts'

t.test('rules over domains of unrelated owners are too wide', (t) => {
  for (const host of [
    ...['*.com', '*.org', '*.co.uk', '*.github.io', '*.kawasaki.jp', '*.any.kawasaki.jp', '*.ck', '*.s3.amazonaws.com', '*.vercel.app'],
    ...['*.workers.dev', '*.blogspot.com', '*.xn--p1ai', '*.lan', '*.local', '*.internal', '*.cloudfront.net', '*.herokuapp.com'],
  ])
    t.ok(isTooWide(host), host)
  for (const host of [
    ...['*.example.org', '*.example.co.uk', '*.author.github.io', '*.api.example.org', '*.city.kawasaki.jp', '*.www.ck'],
    ...['co.uk', 'github.io', 'api.example.org', 'author.github.io', 'com'],
  ])
    t.notOk(isTooWide(host), host)
  t.end()
})
