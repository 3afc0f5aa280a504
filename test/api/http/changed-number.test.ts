import t from 'tap'
import { changedNumber } from '#api/http/changed-number.ts'
import { onlyCost } from '#test/support/lane-size.ts'

t.test('a number that a double holds is unchanged, in any spelling', async (t) => {
  const numbers = ['0', '1e5', '10.0', '1.50E+2', '0.1', '9007199254740991', '5e-324', '-0.0', '1.7976931348623157e308', '0e99999999999']
  for (const number of [...numbers, '100000000000000000000000', '0.30000000000000004'])
    t.equal(changedNumber(`{"own":[${number}]}`, ['own']), null, number)
})

t.test('a number with more digits is found with its path', async (t) => {
  for (const number of [
    '9007199254740993',
    '-9007199254740993',
    '0.1234567890123456789',
    '1e309',
    '2e-324',
    '1e-99999999999',
    '12345678901234567890',
  ])
    t.equal(changedNumber(`{"own":{"a":[0,{"x/y~z":${number}}]}}`, ['own']), '/own/a/1/x~1y~0z', number)
  t.equal(changedNumber('{"own":{"__proto__":{"b":1e999}}}', ['own']), '/own/__proto__/b')
  t.equal(changedNumber('{"own":9007199254740993}', ['own']), '/own')
})

t.test('numbers elsewhere, digits in texts, and values that a later one replaces do not count', async (t) => {
  t.equal(changedNumber('{"other":9007199254740993,"own":{"a":"9007199254740993"},"b":{"own":1e999}}', ['own']), null)
  t.equal(changedNumber('{"own":9007199254740993,"own":{"a":1e999,"a":2}}', ['own']), null)
  t.equal(changedNumber('{"own":{}}', ['none']), null)
})

t.test('a number with many digits takes linear time', onlyCost, async (t) => {
  const before = process.cpuUsage()
  t.equal(changedNumber(`{"own":[${'9'.repeat(800_000)},0.${'0'.repeat(800_000)}1]}`, ['own']), '/own/0')
  t.ok(process.cpuUsage(before).user < 2_000_000)
})
