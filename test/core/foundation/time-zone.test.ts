import t from 'tap'
import { routes } from '#api/routes.ts'
import { isTimezone } from '#core/foundation/time-zone.ts'

t.test('names of time zones', async (t) => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires']) t.ok(isTimezone(name), name)
  for (const name of ['Mars/Olympus', '', 'Berlin']) t.notOk(isTimezone(name), name)
})

/** Every member of a schema with its name. */
function membersOf(node: unknown): [name: string, schema: object][] {
  if (typeof node !== 'object' || node === null) return []
  const own = Object.entries((node as { properties?: object }).properties ?? {}) as [string, object][]
  return [...own, ...Object.values(node).flatMap(membersOf)]
}

t.test('every time zone of a request is checked where it is sent', async (t) => {
  const found = routes.flatMap((route) => (route.kind === 'endpoint' ? membersOf([route.body, route.query]) : []))
  const zones = found.filter(([name]) => /time-?zone$/i.test(name))
  t.ok(zones.length >= 3, 'the walk finds them')
  for (const [name, schema] of zones) t.match(JSON.stringify(schema), /"format":"time-zone"/, name)
})
