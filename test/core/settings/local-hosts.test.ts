import t from 'tap'
import { hostAndPort, isLocalHost, localServices, readLocalAddress } from '#core/settings/local-hosts.ts'
import { readSettings, SettingsRefused } from '#core/settings/read-settings.ts'
import { ruleOfAddress } from '#plugins/network/rules.ts'

t.test('a place is a host of this machine or its network, and a port', (t) => {
  for (const [text, place] of [
    ['localhost:8600', 'localhost:8600'],
    ['LOCALHOST:80', 'localhost:80'],
    ['127.0.0.1:8600', '127.0.0.1:8600'],
    ['127.3.2.1:1', '127.3.2.1:1'],
    ['[::1]:8600', '[::1]:8600'],
    ['[0:0::1]:443', '[::1]:443'],
    ['192.168.1.20:65535', '192.168.1.20:65535'],
    ['[fd12::5]:8080', '[fd12::5]:8080'],
  ] as const)
    t.equal(readLocalAddress(text), place, text)
  for (const text of [
    ...[
      '',
      'localhost',
      ':8600',
      'localhost:',
      'localhost:0',
      'localhost:65536',
      'localhost:8600/',
      'http://localhost:8600',
      'localhost:8600 ',
    ],
    ...[
      'nas.lan:80',
      'example.org:80',
      'a.localhost:80',
      'localhost.:80',
      '8.8.8.8:80',
      '0.0.0.0:80',
      '169.254.169.254:80',
      '[fe80::1]:80',
    ],
    ...['[::ffff:127.0.0.1]:80', '[::ffff:7f00:1]:80', '::1:80', '[::]:80', '*:80', 'localhost:*', 'user@localhost:80', 'localhost:8600,x'],
  ])
    t.equal(readLocalAddress(text), null, text)
  t.equal(hostAndPort(new URL('http://localhost/x')), 'localhost:80')
  t.equal(hostAndPort(new URL('https://localhost/x')), 'localhost:443')
  for (const host of ['example.org', '', '[::ffff:127.0.0.1]', 'localhost.example.org']) t.notOk(isLocalHost(host), host)
  t.end()
})

t.test('the address of the server itself is no service, and no setting allows it', (t) => {
  const local = localServices(['localhost:8600'], { host: '0.0.0.0', port: 8711 })
  t.same(ruleOfAddress('http://localhost:8711/api', { privateOrigins: [], local }), {
    error: 'localhost:8711 is this server itself, which plugins never reach.',
  })
  t.match(ruleOfAddress('http://localhost:8712/', { privateOrigins: [], local }), {
    error: /start the server with --plugin-allow-local localhost:8712;/,
  })
  t.match(ruleOfAddress('http://localhost:8600/', { privateOrigins: [], local }), { rule: { origin: 'http://localhost:8600' } })
  t.end()
})

t.test('the setting is off by default, and never names the server itself', (t) => {
  const read = (argv: string[], env = {}) => readSettings({ argv, env, cwd: '/home/reader' })
  const addressesOf = (argv: string[], env = {}) => read(argv, env).plugins.allowLocal
  t.same(addressesOf([]), [])
  t.same(addressesOf(['--plugin-allow-local', 'LOCALHOST:8600', '--plugin-allow-local', '[::1]:9000']), ['localhost:8600', '[::1]:9000'])
  t.same(addressesOf([], { CARREL_PLUGIN_ALLOW_LOCAL: '127.0.0.1:8600, localhost:9000' }), ['127.0.0.1:8600', 'localhost:9000'])
  for (const place of ['localhost', 'nas.lan:80', '8.8.8.8:80'])
    t.throws(
      () => read(['--plugin-allow-local', place]),
      { message: /HOST:PORT, where HOST is localhost or an address of this machine/ },
      place,
    )
  for (const place of ['localhost:8085', '127.0.0.1:8085', '127.0.0.9:8085', '[::1]:8085'])
    t.throws(
      () => read(['--plugin-allow-local', place]),
      new SettingsRefused([`--plugin-allow-local names this server itself, ${place}: plugins never reach it.`]),
    )
  t.throws(() => read(['--host', '192.168.1.5', '--plugin-allow-local', '192.168.1.5:8085']), SettingsRefused)
  t.end()
})
