import { argon2Sync, createSecretKey, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { Accounts } from '#core/account/accounts.ts'
import type { KnownParts } from '#core/account/known-devices.ts'
import { LoginThrottle } from '#core/account/login-throttle.ts'
import { PASSWORD_COST, Passwords } from '#core/account/password.ts'
import { findPermission, PERMISSIONS } from '#core/account/permission.ts'
import { purgeSessions } from '#core/account/session-store.ts'
import { Tokens } from '#core/account/token.ts'
import { findLogin } from '#core/account/user-store.ts'
import { FreshCache } from '#core/database/fresh-cache.ts'
import { silentLog } from '#core/foundation/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/library-fixture.ts'
import { TEST_PASSWORD_COST } from '#test/support/server.ts'
import { stopClock } from '#test/support/stopped-clock.ts'

const USER = '6f1c1a52-94a4-4c38-8a5f-0123456789ab'
const SESSION = '7f1c1a52-94a4-4c38-8a5f-0123456789ab'

t.test('passwords are Argon2id in PHC format, salted, with a limit on parallel work', async (t) => {
  const passwords = new Passwords(PASSWORD_COST)
  const hash = await passwords.hash('pässwörd 🔑')
  t.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.not(await passwords.hash('pässwörd 🔑'), hash)
  t.equal(await passwords.verify('pässwörd 🔑', hash), true)
  t.equal(await passwords.verify('passwort', hash), false)
  t.equal(await passwords.verify('', hash), false)
  const nonce = randomBytes(8)
  const tag = argon2Sync('argon2id', { message: 'old', nonce, memory: 64, passes: 1, parallelism: 2, tagLength: 16 })
  const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  const cheap = `$argon2id$v=19$m=64,t=1,p=2$${unpadded(nonce)}$${unpadded(tag)}`
  t.equal(await passwords.verify('old', cheap), true, 'other parameters')
  t.equal(await passwords.verify('x', null), false, 'of no user')
  for (const damaged of [
    '',
    'plain',
    hash.slice(0, 40),
    hash.replace('argon2id', 'argon2i'),
    hash.replace('m=19456', 'm=9999999'),
    hash.replace('t=2', 't=999'),
  ]) {
    t.equal(await passwords.verify('pässwörd 🔑', damaged), false, damaged.slice(0, 30))
  }
  const outcomes = await Promise.allSettled(Array.from({ length: 110 }, () => passwords.verify('x', cheap)))
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  t.equal(refused.length, 8, 'two run, a hundred wait, the rest is refused')
  t.match(refused[0]?.status === 'rejected' && refused[0].reason, { code: 'unavailable', retryAfterSeconds: 2 })
  t.equal(await passwords.verify('pässwörd 🔑', hash), true, 'and then there is room again')
})

t.test('tokens: only ours, unaltered and unexpired', async (t) => {
  const key = randomBytes(32)
  const tokens = new Tokens({ key, lifetimeSeconds: 60 })
  const token = await tokens.sign({ userId: USER, sessionId: SESSION, role: 'reader' })
  t.match(await tokens.verify(token), { userId: USER, sessionId: SESSION, endsAt: Number })
  t.not(await tokens.sign({ userId: USER, sessionId: SESSION, role: 'reader' }), token, 'each has an id of its own')
  const [header, payload, signature] = token.split('.') as [string, string, string]
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
  const other = await new Tokens({ key: randomBytes(32), lifetimeSeconds: 60 }).sign({ userId: USER, sessionId: SESSION, role: 'admin' })
  const expired = await new Tokens({ key, lifetimeSeconds: -1 }).sign({ userId: USER, sessionId: SESSION, role: 'reader' })
  const claims = () => new SignJWT({ sid: SESSION }).setSubject(USER).setJti('j').setIssuedAt().setExpirationTime('1h')
  const hs512 = await claims().setProtectedHeader({ alg: 'HS512' }).sign(randomBytes(64))
  const noSession = await new SignJWT({})
    .setSubject(USER)
    .setJti('j')
    .setIssuedAt()
    .setExpirationTime('1h')
    .setProtectedHeader({ alg: 'HS256' })
    .sign(key)
  const noUuid = await claims().setSubject("x' OR 1=1").setProtectedHeader({ alg: 'HS256' }).sign(createSecretKey(key))
  for (const bad of ['', 'a', 'a.b.c', none, other, expired, hs512, noSession, noUuid, `${header}.${payload}x.${signature}`, `${token}.`]) {
    t.equal(await tokens.verify(bad), null, bad.slice(0, 60))
  }
  // Tokens count whole seconds: this one lives for more than two of them.
  const brief = new Tokens({ key, lifetimeSeconds: 3 })
  const soonOver = await brief.sign({ userId: USER, sessionId: SESSION, role: 'reader' })
  t.not(await brief.verify(soonOver), null)
  // Its whole life.
  await sleep(3_100)
  t.equal(await brief.verify(soonOver), null, 'also one that was verified before')
  t.throws(() => new Tokens({ key: randomBytes(31), lifetimeSeconds: 60 }), /at least 32/)
})

const STRANGER = { address: false, device: null }

function openTimedThrottle() {
  const clock = { ms: 0 }
  const throttle = new LoginThrottle(() => clock.ms)
  const attempt = (account: string, address: string, check: () => Promise<object | null>, known: KnownParts = STRANGER) =>
    throttle.attempt({ account, address, known }, check)
  const fail = (account: string, address: string, known?: KnownParts) => attempt(account, address, async () => null, known)
  const wait = async (account: string, address: string, known?: KnownParts): Promise<number> => {
    const unchecked = new Error('The password could not be checked')
    const error = await attempt(account, address, () => Promise.reject(unchecked), known).catch((error) => error)
    return error === unchecked ? 0 : error.retryAfterSeconds
  }
  return { clock, attempt, fail, wait }
}

t.test('the throttle doubles the pause, resets on success, and counts unfinished attempts', async (t) => {
  const { clock, attempt, fail, wait } = openTimedThrottle()
  for (let count = 0; count < 4; count++) await fail('ada', '1.1.1.1')
  t.equal(await wait('ada', '1.1.1.1'), 0)
  const pauses: number[] = []
  for (let count = 0; count < 12; count++) {
    await fail('ada', '1.1.1.1')
    pauses.push(await wait('ada', '1.1.1.1'))
    clock.ms += (pauses.at(-1) ?? 0) * 1000
  }
  t.same(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  await attempt('ada', '1.1.1.1', async () => ({}))
  await fail('ada', '1.1.1.1')
  t.equal(await wait('ada', '1.1.1.1'), 0, 'success resets the count')

  for (let count = 0; count < 20; count++) await fail(`user${count}`, '2001:db8::1')
  t.equal(await wait('somebody', '2001:db8::ffff'), 1, 'the whole /64 waits')
  t.equal(await wait('somebody', '2001:db8:0:1::1'), 0)

  const check = Promise.withResolvers<null>()
  const running = Array.from({ length: 5 }, () => attempt('bob', '5.5.5.5', () => check.promise))
  t.equal(await wait('bob', '5.5.5.5'), 1, 'a sixth concurrent attempt waits')
  check.reject(new Error('The password could not be checked'))
  await Promise.allSettled(running)
  t.equal(await wait('bob', '5.5.5.5'), 0)
})

t.test('failures from one place do not throttle other places; failures from many places throttle unknown places only', async (t) => {
  const { clock, fail, wait } = openTimedThrottle()
  // A day of guessing from one address, as fast as its pauses allow.
  while (clock.ms < 86_400_000) {
    await fail('ada', '6.6.6.6')
    clock.ms += (await wait('ada', '6.6.6.6')) * 1000 + 1
  }
  await fail('ada', '6.6.6.6')
  t.ok((await wait('ada', '6.6.6.6')) > 0)
  t.equal(await wait('ada', '7.7.7.7'), 0, 'from elsewhere')
  let guesses = 0
  for (let count = 0; count < 500; count++) {
    if ((await wait('ada', `8.8.${count}.1`)) > 0) continue
    await fail('ada', `8.8.${count}.1`)
    guesses++
  }
  t.ok(guesses <= 60, `${guesses} guesses from 500 places`)
  t.ok((await wait('ada', '7.7.7.7')) > 0 && (await wait('ada', '7.7.7.7')) <= 60, 'an unknown place waits')
  t.equal(await wait('ada', '7.7.7.7', { address: true, device: null }), 0, 'a known address does not')
  t.equal(await wait('bob', '7.7.7.7'), 0)
  clock.ms += 60_000
  t.equal(await wait('ada', '7.7.7.7'), 0, 'one guess a minute is left')

  const device = { address: false, device: 'a device' }
  for (let count = 0; count < 20; count++) await fail(`user${count}`, '5.5.5.5')
  t.ok((await wait('eve', '5.5.5.5')) > 0)
  t.equal(await wait('ada', '5.5.5.5', device), 0, 'a known device passes although its address is throttled')
  for (let count = 0; count < 5; count++) await fail('ada', '5.5.5.5', device)
  t.ok((await wait('ada', '9.9.9.9', device)) > 0, 'and has a count of its own')
})

t.test('cached values are fresh, loaded once, and never older than the last change', async (t) => {
  let loads = 0
  let value = 'old'
  let release: () => void = () => {}
  let gate: Promise<void> | null = null
  const cache = new FreshCache<{ value: string }>({
    bytesMax: 10_000,
    freshMs: 30,
    load: async (key) => {
      loads++
      const seen = value
      await gate
      return key === 'none' ? null : { value: seen }
    },
  })
  t.same(await Promise.all([cache.get('a'), cache.get('a')]), [{ value: 'old' }, { value: 'old' }])
  t.equal(loads, 1)
  t.equal(await cache.get('none'), null)
  gate = new Promise((resolve) => {
    release = resolve
  })
  await sleep(40)
  const before = cache.get('a')
  value = 'new'
  cache.clear()
  release()
  await before
  t.same(await cache.get('a'), { value: 'new' }, 'a load that began before the change is not cached')
})

t.test('permissions in every spelling', async (t) => {
  for (const permission of PERMISSIONS) {
    const words = permission.split('-')
    const resource = words.slice(0, -1)
    const pascal = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
    for (const spelling of [permission, `${resource.join('-')}:${words.at(-1)}`, pascal, permission.toUpperCase(), words.join('_')]) {
      t.equal(findPermission(spelling), permission, spelling)
    }
  }
  t.equal(findPermission('fly'), null)
})

t.test('ended sessions are purged, others are kept; two processes agree within seconds', async (t) => {
  const { database } = await openTestDatabase(t)
  const options = {
    database,
    settings: { accessTokenSeconds: 3600, refreshTokenDays: 30 },
    tokenKey: randomBytes(32),
    passwordCost: TEST_PASSWORD_COST,
    log: silentLog,
  }
  const [here, there] = [new Accounts(options), new Accounts(options)]
  t.teardown(() => Promise.all([here.close(), there.close()]))
  const { accessToken, refreshToken } = await here.initialize({ username: 'ada', email: 'ada@example.org', password: 'long enough' })
  const caller = await there.callers.ofToken(accessToken, 'token')
  t.match(caller, { username: 'ada', via: 'token', sessionId: String })
  await here.refresh(refreshToken)
  t.equal(await purgeSessions(database, new Date()), 0)
  // Loads the session again if the cached one has expired.
  await there.callers.ofToken(accessToken, 'token')
  await here.logout(caller!)
  t.equal(await here.callers.ofToken(accessToken, 'token'), null, 'refused here immediately')
  t.not(await there.callers.ofToken(accessToken, 'token'), null, 'another process may still accept it')
  // Other processes remember callers for five seconds.
  await sleep(5_100)
  t.equal(await there.callers.ofToken(accessToken, 'token'), null, 'but not for long')
  t.equal(await purgeSessions(database, new Date(Date.now() + 1000)), 1)
  t.same(await database('refresh_tokens').select('*'), [])
})

/** Accounts with one administrator, and ways to stop them between two steps. */
async function openTestAccounts(t: Test) {
  const { database } = await openTestDatabase(t, { poolMax: 10 })
  const settings = { accessTokenSeconds: 3600, refreshTokenDays: 30 }
  const accounts = new Accounts({ database, settings, tokenKey: randomBytes(32), passwordCost: TEST_PASSWORD_COST, log: silentLog })
  t.teardown(() => accounts.close())
  const signedIn = await accounts.initialize({ username: 'admin', email: 'ada@example.org', password: 'long enough' })
  return {
    database,
    accounts,
    signedIn,
    /** Waits until a connection waits for a row that another has locked. */
    blocked: () =>
      until(async () => {
        const { rows } = await database.raw(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      }),
  }
}

t.test('no session outlives the password it was opened with', async (t) => {
  const { database, accounts, signedIn, blocked } = await openTestAccounts(t)
  const { id } = signedIn.user
  const login = (password: string) => accounts.login({ username: 'admin', password, address: '1.1.1.1' })
  const alive = async () => Number((await database('sessions').whereNull('revoked_at').count('* AS count').first())?.count)

  for (const [what, change] of [
    ['the password', { password_hash: await new Passwords(TEST_PASSWORD_COST).hash('changed meanwhile') }],
    ['the account', { is_active: false }],
  ] as const) {
    const before = await database('users').where({ id }).first('password_hash', 'is_active')
    const changing = await database.transaction()
    await changing('users').where({ id }).update(change)
    // Reads the row before the change and accepts the password; the change is noticed when the session is inserted.
    const late = login('long enough').then(
      () => 'signed in',
      (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
    )
    await blocked().catch(() => t.fail(`a sign-in does not wait for a change of ${what}`))
    await changing.commit()
    t.equal(await late, 'unauthorized: The user name or the password is wrong.', what)
    t.equal(await alive(), 1, 'and no session was created')
    await database('users').where({ id }).update(before)
  }

  await login('long enough')
  t.equal(await alive(), 2)
  const blocking = await database.transaction()
  await blocking('sessions').forUpdate()
  const { password_hash: old } = await database('users').where({ id }).first('password_hash')
  const edit = accounts.editUser(id, { password: 'a new password' }, null)
  await blocked()
  t.equal((await database('users').where({ id }).first('password_hash')).password_hash, old, 'both or neither')
  await blocking.rollback()
  await edit
  t.equal(await alive(), 0)
  await t.rejects(login('long enough'), { code: 'unauthorized' })
  t.match(await login('a new password'), { user: { id } })
})

t.test('a name with more combining marks than the limit is the same name everywhere', async (t) => {
  const { accounts } = await openTestAccounts(t)
  const name = `e${'\u0301\u0315'.repeat(20)}`
  await accounts.createUser({ username: name, email: 'e@example.org', password: 'long enough' }, null)
  for (const typed of [name, name.slice(0, 31)]) {
    const proof = { username: typed, password: 'long enough', address: '10.0.0.1' }
    t.match(await accounts.login(proof), { user: { username: name.slice(0, 31) } })
    t.match(await accounts.callers.ofBasic(proof), { via: 'basic' })
  }
})

t.test('the recorded failure for an endless name is small', async (t) => {
  const { database } = await openTestAccounts(t)
  for (const name of ['x'.repeat(12_000), 'a\0b', '\ud800', '\u{1f600}'.repeat(6_000), `${'x'.repeat(6_000)}@${'y'.repeat(6_000)}`]) {
    const { found, account } = await findLogin(database, name)
    t.equal(found, null)
    t.ok(account.length < 300)
  }
})

t.test('failures for one account count together, whatever name the client sends', async (t) => {
  stopClock(t)
  const { accounts } = await openTestAccounts(t)
  const guess = async (username: string, how: 'login' | 'basic' = 'login', address = '10.0.0.1') => {
    const proof = { username, password: 'a guess', address }
    return await (how === 'login' ? accounts.login(proof) : accounts.callers.ofBasic(proof)).then(
      (caller) => (caller === null ? 'unauthorized' : 'let in'),
      (error: { code: string }) => error.code,
    )
  }
  for (const [name, how] of [['admin'], ['ADMİN', 'basic'], ['ada@example.org'], ['Ada@Example.org', 'basic'], ['admİn']] as const) {
    t.equal(await guess(name, how), 'unauthorized', name)
  }
  for (const name of ['admin', 'Admin', 'ADMİN', 'ada@example.org']) {
    t.equal(await guess(name), 'rate_limit_exceeded', name)
    t.equal(await guess(name, 'basic'), 'rate_limit_exceeded', `${name} by Basic`)
  }
  // No user has this name; the responses are the same.
  for (const [name, how] of [['ghi'], ['GHİ', 'basic'], ['Ghi'], ['ghİ', 'basic'], ['GHI']] as const) {
    t.equal(await guess(name, how), 'unauthorized', name)
  }
  for (const name of ['ghi', 'GHİ']) t.equal(await guess(name), 'rate_limit_exceeded', name)
  t.equal(await guess('somebody else'), 'unauthorized')
  t.equal(await guess('admin', 'login', '10.0.0.2'), 'unauthorized', 'another address may still try')
})
