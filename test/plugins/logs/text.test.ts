import fc from 'fast-check'
import t from 'tap'
import { cutBytes, HIDDEN, hideSecrets, isSecretName, redact } from '#plugins/logs/text.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { assertInTime } from '#test/support/timed-property.ts'

t.test('names of secrets are told from other names', async (t) => {
  const secret =
    'password passWord user_password PASSWORD access_token accessToken refreshtoken x-api-key X-API-Key apiKey apikey API_KEY client_secret clientSecret authorization Authorization Cookie set-cookie sessionId credentials privateKey jwt otp webhook_signature bearer myTokens AUTH auth_header secretKey signingKey'
  for (const name of secret.split(' ')) t.equal(isSecretName(name), true, name)
  const open =
    'author authors authority title key keys query externalId cursor nextCursor page pinned passage compass sectional description tokenizer isbn monkey keyboard cookiecutter sessions'
  for (const name of open.split(' ')) t.equal(isSecretName(name), false, name)
})

t.test('secrets in texts are hidden', async (t) => {
  const cases: [text: string, shown: string][] = [
    ['nothing of that sort', 'nothing of that sort'],
    ['Authorization: Bearer abc.def-123456', `Authorization: Bearer ${HIDDEN}`],
    ['sent bearer abcdefgh12345', `sent bearer ${HIDDEN}`],
    ['https://ada:hunter2@example.org/x', `https://${HIDDEN}@example.org/x`],
    ['GET /search?api_key=0123456789&q=dune', `GET /search?api_key=${HIDDEN}&q=dune`],
    ['{"password":"hunter2","title":"Dune"}', `{"password":"${HIDDEN}","title":"Dune"}`],
    ['see url=https://example.org/?a=1&api_key=abc=d?e&b=2', `see url=https://example.org/?a=1&api_key=${HIDDEN}&b=2`],
    ['{"token":"","page":2}', '{"token":"","page":2}'],
    [`x-api-key: ${HIDDEN} and`, `x-api-key: ${HIDDEN} and`],
    ["token = 'abc', page = 2", `token = '${HIDDEN}', page = 2`],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def is it', `${HIDDEN} is it`],
    ['x-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0 it', `x-${HIDDEN} it`],
    ['a.eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig.end', `a.${HIDDEN}.end`],
    ['eyJhbGciOiJIUzI1NiJ9.abc and 1.5 or www.example.org', 'eyJhbGciOiJIUzI1NiJ9.abc and 1.5 or www.example.org'],
    ['the basics of bearers', 'the basics of bearers'],
    ['author: Frank', 'author: Frank'],
    ['https://example.org/a:b@c', 'https://example.org/a:b@c'],
  ]
  for (const [text, shown] of cases) t.equal(hideSecrets(text), shown, text)
})

t.test('hiding secrets takes linear time for any text', onlyCost, async (t) => {
  const hostile = [
    'token:'.repeat(20_000),
    'a='.repeat(50_000),
    'x'.repeat(100_000),
    'token='.repeat(20_000),
    'a'.repeat(100_000),
    `://${'a@'.repeat(40_000)}`,
    'eyJ'.repeat(30_000),
    'eyJ-'.repeat(100_000),
    'eyJaaaaaaaa-'.repeat(50_000),
    'a.'.repeat(200_000),
    'eyJaaaaaaaa.aaaa.'.repeat(30_000),
    '"'.repeat(100_000),
  ]
  for (const text of hostile) {
    const begun = threadCpuMs()
    hideSecrets(text)
    t.ok(threadCpuMs() - begun < 2_000, `${text.slice(0, 12)}… takes no more than it is long`)
  }
})

t.test('a text is cut to so many bytes', async (t) => {
  t.same(
    [cutBytes('abc', 3), cutBytes('abcd', 3), cutBytes('äöü', 6), cutBytes('äöü', 5), cutBytes('abc', 2)],
    ['abc', '…', 'äöü', 'ä…', ''],
  )
  assertInTime(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.nat(400), (text, max) => {
      const cut = cutBytes(text, max)
      const bytes = Buffer.byteLength(cut)
      if (Buffer.byteLength(text) <= max) return cut === text
      return bytes <= max && (cut === '' || (cut.endsWith('…') && text.startsWith(cut.slice(0, -1)) && bytes > max - 7))
    }),
  )
})

t.test('values under names of secrets are redacted', async (t) => {
  const cases: [given: unknown, value: unknown, cut: boolean][] = [
    [{ query: 'dune', limit: 3, exact: true, year: null }, { query: 'dune', limit: 3, exact: true, year: null }, false],
    [{ headers: { 'X-Api-Key': 'abc', accept: '*/*' } }, { headers: { 'X-Api-Key': HIDDEN, accept: '*/*' } }, true],
    [{ token: null, password: { deep: 1 } }, { token: null, password: HIDDEN }, true],
    [['Bearer abcdefghij', 'plain'], [`Bearer ${HIDDEN}`, 'plain'], true],
    [undefined, null, false],
    [{ a: undefined, b: () => 1 }, { b: null }, false],
  ]
  for (const [given, value, cut] of cases) t.same(redact(given, { lengthMax: 1_000 }), { value, cut }, JSON.stringify(given))
  const own = redact(JSON.parse('{"__proto__":{"admin":true}}'), { lengthMax: 100 }).value
  t.ok(Object.hasOwn(own as object, '__proto__'), 'a name like others')
  t.equal(redact('x'.repeat(5_000), { lengthMax: 8_000 }).cut, true)
  const deep = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`)
  t.ok(JSON.stringify(redact(deep, { lengthMax: 8_000 }).value).length < 100)
  t.match(
    redact(
      Array.from({ length: 150 }, (_, at) => at),
      { lengthMax: 8_000 },
    ).value,
    { 99: 99, 100: '… 50 more' },
  )

  // Escapes make the text six times as long, so it never fits, however often it is halved.
  for (const text of ['\u0000\u0000', '\u0000'.repeat(200), '""', '\\\\', '\ud800\u0000', '\u0000a'])
    for (let lengthMax = 0; lengthMax < 30; lengthMax++)
      assertInTime(
        fc.property(fc.constantFrom(text, [text, text], { [text]: text }, [1, text, text]), (given) => {
          const { value, cut } = redact(given, { lengthMax })
          return cut || JSON.stringify(value) === JSON.stringify(given)
        }),
        {},
        5_000,
      )
  const line = [...Array(80).fill(1), 'pppp', ...Array(20).fill('\u0000\u0000')]
  t.ok(JSON.stringify(redact(line, { lengthMax: 2_000 }).value).length < 2_100)
  t.same(redact([1, 2, 3], { lengthMax: 9 }), { value: [1, 2, 3], cut: false }, 'numbers count with their length')

  assertInTime(
    fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), fc.integer({ min: 10, max: 600 }), (given, lengthMax) => {
      const { value, cut } = redact(given, { lengthMax })
      const text = JSON.stringify(value)
      // The mark of an omission occurs at most once for each level.
      return text.length <= lengthMax + 13 * 30 && (cut || text === JSON.stringify(given))
    }),
    { numRuns: 500 },
  )
  assertInTime(
    fc.property(
      fc.string({ minLength: 8 }),
      fc.jsonValue(),
      fc.constantFrom('password', 'accessToken', 'x-api-key', 'Cookie'),
      (secret, other, name) => {
        const marked = `!!${secret}!!`
        const text = JSON.stringify(
          redact({ other: { [name]: marked }, list: [{ [name]: [marked] }], more: other }, { lengthMax: 4_000 }).value,
        )
        return !text.includes(JSON.stringify(marked).slice(1, -1))
      },
    ),
  )
})

t.test('a property that holds, and one that does not', async (t) => {
  assertInTime(fc.property(fc.nat(), (number) => number >= 0))
  t.throws(
    () =>
      assertInTime(
        fc.property(fc.nat(), (number) => number < 5),
        { seed: 7 },
      ),
    { message: /seed: 7[\s\S]*Counterexample: \[5\]/ },
  )
})

t.test('an endless property is reported with its seed and value', async (t) => {
  const endless = (number: number) => {
    for (; number > 5; );
    return true
  }
  let message = ''
  // It has no value yet if this process stood still at its beginning.
  for (let tries = 0; tries < 3 && !message.includes('with ['); tries++)
    try {
      assertInTime(fc.property(fc.nat(), endless), { seed: -42 }, 500)
    } catch (error) {
      message = (error as Error).message
    }
  t.match(message, /^The property did not end within 500 ms: \{ seed: -42 \}, with \[\d+\]$/)
})
