import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { listSuffixes } from '#plugins/packages/wide-host.ts'
import { manifestOf } from '#test/support/plugins.ts'

const reason = 'The service'
/** The places of a manifest that name hosts. */
const PLACES: [name: string, manifest: (host: string) => Record<string, unknown>][] = [
  ['/permissions/network/0/host', (host) => ({ permissions: { network: [{ host, reason }] } })],
  [
    '/capabilities/webLinks/hosts/0',
    (host) => ({ capabilities: { 'metadata.series': { methods: ['search', 'get'] }, webLinks: { hosts: [host] } } }),
  ],
]

const problemOf = (change: Record<string, unknown>): string | null => {
  try {
    readManifest(Buffer.from(JSON.stringify(manifestOf(change))))
    return null
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_value') return error.message
    throw error
  }
}

t.test('a wildcard at or above any public suffix is refused in every place of a manifest, in any form', (t) => {
  const suffixes = listSuffixes()
  const everyTenth = suffixes.filter((_, index) => index % 10 === 0).map((rule) => rule.replace('*', 'any'))
  t.ok(everyTenth.length > 900)
  for (const [place, manifest] of PLACES) {
    t.equal(problemOf(manifest('api.example.org')), null)
    for (const suffix of everyTenth)
      for (const [index] of suffix.split('.').entries()) {
        const base = suffix.split('.').slice(index).join('.')
        const problem = problemOf(manifest(`*.${base}`))
        if (!problem?.includes(place)) t.fail(`*.${base} at ${place}: ${problem}`)
      }
    for (const wide of ['com', 'co.uk', 'github.io', 's3.amazonaws.com', 'amazonaws.com', 'xn--p1ai'])
      for (const host of [
        ...[`*.${wide}.`, `*.${wide}..`, `*.${wide.toUpperCase()}`, `*..${wide}`, `*.*.${wide}`, `**.${wide}`, `*${wide}`, `%2a.${wide}`],
        ...[
          `*.${wide}:443`,
          `*.${wide}/`,
          `https://*.${wide}`,
          `\uff0a.${wide}`,
          `*\u3002${wide}`,
          `*.${wide.replace('.', '\uff0e')}\u200b`,
        ],
      ])
        t.match(problemOf(manifest(host)), place, `${JSON.stringify(host)} at ${place}`)
    for (const host of ['*.рф', '*.公司.cn', '*.bücher.example', '*.BÜCHER.example', 'bücher.example', 'xn--.example', '*'])
      t.match(problemOf(manifest(host)), place, `${host} at ${place}`)
    t.equal(problemOf(manifest('xn--bcher-kva.example')), null, 'as requests write it')
  }
  t.end()
})

/** This machine, link-local addresses, metadata services and addresses of nobody, as parsers of addresses read them. */
const NEVER = [
  ...['127.0.0.1', '127.1', '0177.0.0.1', '0x7f.0.0.1', '0x7f.1', '017700000001', '2130706433', '0x7f000001', '127.0.0.1.', '127.255.1.2'],
  ...['0', '0.0.0.0', '0x0', '\u2460\u2461\u2466.0.0.1', '127\u30020\u30020\u30021', '%31%32%37.0.0.1', '169.254.169.254', '0xa9fea9fe'],
  ...['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]'],
  ...['[64:ff9b::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fe80::1%25eth0]', '[::1%25lo]', '[fe80::1%eth0]'],
  ...['[::ffff:169.254.169.254]', '[fd00:ec2::254]', '[ff02::1]', '224.0.0.1', '255.255.255.255', '[2001:db8::1', '1.2.3.4.5', '256.1.1.1'],
  ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'loc\u00adalhost', 'ｌocalhost'],
]
/** Public addresses: a configured host is a name, or an address that is granted as one of the own network. */
const ADDRESSES = [
  '93.184.216.34',
  '0135.0270.0330.042',
  '0x5d.0xb8.0xd8.0x22',
  '1572395042',
  '[2606:2800:220:1::1]',
  '10.1.2.3',
  '[fd00::10]',
]

t.test('addresses of this machine and of no single host are refused in every spelling, with a sentence, granted or not', (t) => {
  for (const scheme of ['http', 'https', 'HTTPS'])
    for (const host of NEVER)
      for (const port of ['', ':80', ':443', ':08080', ':65535']) {
        const address = `${scheme}://${host}${port}/books`
        const origins = URL.canParse(address) ? [new URL(address).origin] : []
        for (const privateOrigins of [[], origins]) t.match(ruleOfAddress(address, { privateOrigins }), { error: /^.{20,300}$/ }, address)
      }
  for (const host of ADDRESSES) {
    const address = `https://${host}/`
    t.match(ruleOfAddress(address, { privateOrigins: [] }), { error: /To grant https:\S+, enter it together with privateHosts/ }, address)
  }
  t.end()
})

t.test('a configured host has no other port or scheme than the one that was granted, and no wildcard', (t) => {
  const rule = (address: string, privateOrigins: string[] = []) => ruleOfAddress(address, { privateOrigins })
  for (const port of ['80', '8443', '22', '1', '65535', '0443000'])
    t.match(rule(`https://api.example.org:${port}`), { error: /A port is allowed only|not a URL/ }, port)
  for (const port of ['', ':', ':443', ':0443'])
    t.match(rule(`https://api.example.org${port}/`), { rule: { host: 'api.example.org' } }, port)
  t.match(rule('http://api.example.org:8080', ['https://api.example.org:8080', 'http://api.example.org']), { error: String })
  for (const suffix of listSuffixes().filter((_, index) => index % 20 === 0))
    for (const address of [`https://*.${suffix.replace('*', 'any')}`, `https://%2A.${suffix.replace('*', 'any')}`])
      if (!('error' in rule(address, [address]))) t.fail(address)
  t.end()
})
