import t from 'tap'
import { parse } from 'tldts'
import { SHARED_DOMAINS } from '#plugins/packages/shared-domains.ts'
import { isTooWide, listSuffixes } from '#plugins/packages/wide-host.ts'

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

t.test('rules over names that have a public suffix, or a shared service, at any depth below them are too wide', (t) => {
  for (const host of [
    ...['*.amazonaws.com', '*.windows.net', '*.core.windows.net', '*.azure.com', '*.oraclecloud.com', '*.aliyuncs.com', '*.fastly.net'],
    ...['*.b-cdn.net', '*.backblazeb2.com', '*.sslip.io', '*.nip.io', '*.wordpress.com', '*.tumblr.com', '*.cdn77.org', '*.ovh.net'],
    ...['*.eu-west-1.amazonaws.com', '*.oss-cn-hangzhou.aliyuncs.com', '*.us-west-004.backblazeb2.com', '*.1-2-3-4.sslip.io'],
    ...['*.objectstorage.eu-zurich-1.oraclecloud.com', '*.localhost.run', '*.linode.com', '*.jelastic.cloud', '*.salesforce.com'],
  ])
    t.ok(isTooWide(host), host)
  for (const host of [
    ...['*.anilist.co', '*.openlibrary.org', '*.myanimelist.net', '*.mangadex.org', '*.kitsu.app', '*.archive.org', '*.comicvine.com'],
    ...['my-bucket.s3.amazonaws.com', '*.my-bucket.s3.amazonaws.com', 'covers.b-cdn.net', '192-0-2-1.sslip.io', '*.notamazonaws.com'],
  ])
    t.notOk(isTooWide(host), host)
  t.end()
})

t.test('every rule of the list counts, and every name above it', (t) => {
  const suffixes = listSuffixes()
  t.ok(suffixes.length > 9_000, String(suffixes.length))
  for (const rule of suffixes) {
    const labels = rule.replace('*', 'any').split('.')
    for (const [index] of labels.entries()) {
      const base = labels.slice(index).join('.')
      if (!isTooWide(`*.${base}`)) t.fail(`*.${base} for ${rule}`)
    }
    const base = labels.join('.')
    if (parse(base, { allowPrivateDomains: true, extractHostname: false }).publicSuffix !== base)
      t.fail(`${rule} was not read as the list has it`)
  }
  t.same(
    SHARED_DOMAINS.filter((name) => suffixes.includes(name)),
    [],
    'the kept list repeats nothing',
  )
  t.equal(new Set(SHARED_DOMAINS).size, SHARED_DOMAINS.length)
  t.end()
})
