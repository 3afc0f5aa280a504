import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { isExactNumber, isSameText, memberText, readExactJson } from '#core/foundation/exact-json.ts'
import { onlyCost } from '#test/support/lane-size.ts'

t.test('parsed JSON is written unchanged', async (t) => {
  for (const text of [
    '{"b":1,"a":2}',
    '{"10":1,"b":2,"2":3,"a":{"7":[],"3":{}}}',
    '{"id":12345678901234567890,"pi":3.14159265358979323846264338327950288,"far":1e400,"near":-1.5e-999}',
    '[{"2":0,"1":9007199254740993},-0.1,"9007199254740993"]',
    '{"__proto__":{"1":1,"0":2},"":" ","quo\\"te":"a\\\\","\\u00e9":"x"}',
    '12345678901234567890',
    '"text"',
    'null',
    '{}',
    '[]',
  ]) {
    const value = readExactJson(text)
    t.equal(JSON.stringify(value), text.replace('\\u00e9', 'é'), text)
    t.ok(isDeepStrictEqual(value, readExactJson(text)), 'and equal to itself')
  }
  t.equal(JSON.stringify(readExactJson(' { "b" : [ 1 , 2.50 , true ] ,\n"a" : { } } ')), '{"b":[1,2.5,true],"a":{}}')
  t.equal(JSON.stringify(readExactJson('{"a":1,"b":2,"a":3}')), '{"a":3,"b":2}', 'of two members with one name the last counts')
})

t.test('a number that a double holds is a plain number, in any spelling', async (t) => {
  for (const text of [
    '0',
    '1e5',
    '10.0',
    '1.50E+2',
    '0.1',
    '9007199254740991',
    '5e-324',
    '-0.0',
    '100000000000000000000000',
    '1.7976931348623157e308',
  ])
    t.type(readExactJson(`[${text}]`)?.[0 as never], 'number', text)
  for (const text of ['9007199254740993', '0.1234567890123456789', '1e309', '2e-324'])
    t.ok(isExactNumber(readExactJson(`[${text}]`)?.[0 as never]), text)
})

t.test('the text of a member', async (t) => {
  for (const [text, name, expected] of [
    ['{"own":{"2":0,"1":[1,{"a":"}"}]},"b":1}', 'own', '{"2":0,"1":[1,{"a":"}"}]}'],
    [' { "a" : "own\\"" , "own" : [ 1 , 2 ] , "c" : null } ', 'own', '[ 1 , 2 ]'],
    ['{"a":{"own":1},"b":-1.5e3}', 'own', null],
    ['{"a":{"own":1},"b":-1.5e3}', 'b', '-1.5e3'],
    ['{"own":1,"own":{"x":true}}', 'own', '{"x":true}'],
    ['{"\\u006fwn":"x"}', 'own', '"x"'],
    ['{}', 'own', null],
    ['[{"own":1}]', 'own', null],
    ['"own"', 'own', null],
  ] as const)
    t.equal(memberText(text, name), expected, text)
  t.notOk(isSameText(readExactJson('{"2":0,"1":0}'), readExactJson('{"1":0,"2":0}')), 'a different order is a different text')
  t.ok(isSameText(readExactJson('{"b": 1.0}'), { b: 1 }))
})

t.test('invalid JSON is refused', async (t) => {
  for (const text of ['', '{', '{"a":}', '[1,]', '01', 'nul', '{"a":1}x']) t.throws(() => readExactJson(text), SyntaxError, text)
})

t.test('parsing takes linear time', onlyCost, async (t) => {
  const inputs = [
    `["${'\\\\'.repeat(400_000)}"]`,
    `[${'1,'.repeat(300_000)}1]`,
    `[${'9'.repeat(800_000)}]`,
    `{${Array.from({ length: 60_000 }, (_, n) => `"${n}":${n}`).join()}}`,
  ]
  for (const text of inputs) {
    const before = process.cpuUsage()
    readExactJson(text)
    memberText(`{"a":${text}}`, 'b')
    const { user } = process.cpuUsage(before)
    t.ok(user < 2_000_000, `${text.slice(0, 12)}: ${user / 1000} ms of the processor`)
  }
})
