import t from 'tap'
import { RegistrationLimit } from '#core/account/registration-limit.ts'

t.test('an address registers twenty accounts an hour, and does not throttle other addresses', async (t) => {
  let now = 0
  const limit = new RegistrationLimit(() => now)
  for (let index = 0; index < 20; index++) {
    limit.count('192.0.2.1')
    now += 60_000
  }
  t.throws(() => limit.count('192.0.2.1'), { code: 'rate_limit_exceeded', retryAfterSeconds: 2_400 })
  limit.count('192.0.2.2')
  limit.count('2001:db8::1')
  now = 3_600_001
  limit.count('192.0.2.1')
  t.throws(() => limit.count('192.0.2.1'), { code: 'rate_limit_exceeded' }, 'each account older than an hour makes room for one')
})
