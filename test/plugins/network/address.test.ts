import { createSocket } from 'node:dgram'
import t from 'tap'
import { isGrantableAddress, isOwnAddress, isPublicAddress, resolveName } from '#plugins/network/address.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { forever, openTestEgress, POLICY, refusal } from '#test/support/egress.ts'

t.setTimeout(60_000)

t.test('only addresses of the public internet are public', (t) => {
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])
    t.ok(isPublicAddress(address), address)
  for (const address of [
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.170', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
    ...['198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['192.31.196.1', '192.52.193.1', '192.175.48.1'],
    ...[
      '::',
      '::1',
      '::127.0.0.1',
      '::7f00:1',
      '::a00:1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::ffff:0:127.0.0.1',
      '0:0:0:0:0:ffff:a00:1',
    ],
    ...[
      '64:ff9b::7f00:1',
      '64:ff9b::8.8.8.8',
      '64:ff9b:1::a00:1',
      '100::1',
      '2001::1',
      '2001:2::1',
      '2001:10::1',
      '2001:20::1',
      '2001:db8::1',
    ],
    ...['2002:7f00:1::', '2002:a00:1::', '3fff::1', '5f00::1', '4000::1', '8000::1', 'fc00::1', 'fd00::1', 'fdff:ffff::1'],
    ...['fe80::1', 'fe80::1%eth0', '2606:4700:4700::1111%eth0', 'febf::1', 'fec0::1', 'ff00::1', 'ff02::1', 'ff0e::1', 'FE80::1'],
    ...[
      '',
      'localhost',
      '2130706433',
      '0x7f000001',
      '127.1',
      '010.0.0.1',
      '1.1.1',
      '1.1.1.1/8',
      '1.1.1.1:80',
      ' 1.1.1.1',
      '1.1.1.1\0',
      '[::1]',
    ],
    // Metadata services of cloud providers, although the addresses look ordinary.
    '168.63.129.16',
  ])
    t.notOk(isPublicAddress(address), JSON.stringify(address))
  t.end()
})

t.test('administrators may grant private addresses, but never this machine, link-local ones or metadata services', (t) => {
  for (const address of [
    ...[
      '10.0.0.1',
      '10.255.255.255',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '100.64.0.1',
      '100.127.255.255',
      'fc00::1',
      'fd12:3456::1',
    ],
    ...['1.1.1.1', '2606:4700:4700::1111'],
  ])
    t.ok(isGrantableAddress(address), address)
  for (const address of [
    ...[
      '127.0.0.1',
      '127.1.2.3',
      '0.0.0.0',
      '0.1.2.3',
      '169.254.169.254',
      '169.254.0.1',
      '192.0.0.192',
      '192.0.2.1',
      '198.18.0.1',
      '224.0.0.251',
    ],
    ...[
      '255.255.255.255',
      '240.0.0.1',
      '100.100.100.200',
      '168.63.129.16',
      '::',
      '::1',
      '::127.0.0.1',
      '::ffff:192.168.1.1',
      '::ffff:127.0.0.1',
    ],
    ...[
      'fe80::1',
      'fe80::1%eth0',
      'fd00::1%eth0',
      'fec0::1',
      'ff02::1',
      'fd00:ec2::254',
      'FD00:EC2:0:0::254',
      'fd20:ce::254',
      '64:ff9b::a00:1',
    ],
    ...['2002:a00:1::', '2001::1', '', 'nas.lan', '10.1', '010.0.0.1', '192.168.1.1:80', '[fd00::1]', '192.168.1.1/24'],
  ])
    t.notOk(isGrantableAddress(address), JSON.stringify(address))

  const interfaces = {
    lo: [{ address: '127.0.0.1' }, { address: '::1' }],
    eth0: [{ address: '192.168.1.5' }, { address: '2a01:4f8::5' }, { address: 'fe80::1%eth0' }],
    down: undefined,
  }
  for (const address of ['192.168.1.5', '2a01:4f8::5', '2a01:04f8:0:0:0:0:0:0005', '::1'])
    t.ok(isOwnAddress(address, interfaces), `${address} is the server itself`)
  for (const address of ['192.168.1.6', '2a01:4f8::6', '1.1.1.1']) t.notOk(isOwnAddress(address, interfaces), address)
  t.ok(isOwnAddress('127.0.0.1'), 'an address of this machine')
  t.end()
})

t.test('name servers: all addresses of both families, without waiting for silent servers', async (t) => {
  const server = createSocket('udp4')
  const queries: string[] = []
  server.on('message', (query, { port }) => {
    const labels: string[] = []
    let at = 12
    for (; query[at] !== 0; at += 1 + (query[at] as number)) labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] as number)))
    const name = labels.join('.')
    const type = query.readUInt16BE(at + 1)
    queries.push(name)
    if (name.startsWith('silent')) return
    const found: Buffer[] = name.startsWith('nobody')
      ? []
      : type === 1
        ? [Buffer.from([10, 0, 0, 1]), Buffer.from([1, 1, 1, 1])]
        : [Buffer.from([...[0xfd, 0], ...Array.from({ length: 13 }, () => 0), 1])]
    const isAlias = name.startsWith('alias')
    if (isAlias) found.splice(0, found.length, Buffer.from('\x09localhost\0'), ...(type === 1 ? [Buffer.from([127, 0, 0, 1])] : []))
    const records = found.map((data, index) => {
      const record = Buffer.alloc(12)
      // An answer must be for the requested name; behind an alias, for the name in its record.
      record.writeUInt16BE(isAlias && index > 0 ? 0xc000 + at + 5 + 12 : 0xc00c, 0)
      record.writeUInt16BE(isAlias && index === 0 ? 5 : type, 2)
      record.writeUInt16BE(1, 4)
      record.writeUInt16BE(data.length, 10)
      return Buffer.concat([record, data])
    })
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(found.length > 0 ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(found.length, 6)
    head.writeUInt32BE(0, 8)
    server.send(Buffer.concat([head, query.subarray(12, at + 5), ...records]), port, '127.0.0.1')
  })
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const servers = [`127.0.0.1:${server.address().port}`]
  t.same(await resolveName('api.example.org', forever(), servers), ['10.0.0.1', '1.1.1.1', 'fd00::1'])
  t.same(await resolveName('nobody.example.org', forever(), servers), [])
  t.same(await resolveName('alias.example.org', forever(), servers), ['127.0.0.1'], 'also for an alias')
  t.same([...new Set(queries)], ['api.example.org', 'nobody.example.org', 'alias.example.org'], 'names are queried unchanged')
  const call = new AbortController()
  const at = performance.now()
  setTimeout(() => call.abort(), 50)
  t.same(await resolveName('silent.example.org', call.signal, servers), [])
  const gaveUp = performance.now() - at
  const again = performance.now()
  await resolveName('silent.example.org', forever(), servers)
  const waited = performance.now() - again
  t.ok(waited < 60_000, 'it does not wait forever without a signal')
  t.ok(gaveUp < waited / 2, `after ${Math.round(gaveUp)} ms, where it would have taken ${Math.round(waited)}`)
  const { way } = await openTestEgress(t)
  const egress = new HttpsEgress({ ...way, permits: isPublicAddress, resolve: (host, signal) => resolveName(host, signal, servers) })
  t.match(await refusal(egress.fetch({ url: 'https://api.example.org/' }, POLICY, forever())), { own: 'permission' }, 'mixed')
  const rules = [{ host: 'alias.example.org', methods: ['GET'] }]
  const aliased = egress.fetch({ url: 'https://alias.example.org/' }, { ...POLICY, rules }, forever())
  t.match(await refusal(aliased), { own: 'permission' }, 'an alias of this machine')
})
