import type { FilledServer } from '#bench/lists/filled-server.ts'
import type { Caller } from '#core/account/caller.ts'
import { ROLE_PERMISSIONS } from '#core/account/permission.ts'
import { FILTER_FIELDS } from '#core/catalog/filter-column-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import type { Family } from '#core/catalog/list-condition.ts'
import { openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'

/** An operand for each family of fields. */
const OPERANDS: Record<Family, object> = {
  text: { operator: 'contains', value: 'quokka' },
  word: { operator: 'is', value: 'read' },
  uuid: { operator: 'is', value: '00000000-0000-4000-8000-000000000009' },
  bool: { operator: 'isTrue' },
  number: { operator: 'gt', value: 39 },
  date: { operator: 'after', value: '2035-01-01' },
}

/**
 * Counts by each field of conditions, with their plans.
 * @returns the fields whose plan reads the table of books from begin to end, though they match less than half of it: for more, nothing is faster
 */
export async function readPlans({ url, client, books }: FilledServer): Promise<{ rows: Record<string, object>; scanning: string[] }> {
  const { rows: users } = await client.query('SELECT id FROM users LIMIT 1')
  const caller: Caller = {
    userId: users[0].id,
    username: 'ada',
    permissions: new Set(ROLE_PERMISSIONS.admin),
    via: 'token',
    narrowedBy: null,
  }
  const database = openDatabase({ url, poolMax: 2, log: silentLog })
  const rows: Record<string, object> = {}
  const scanning: string[] = []
  for (const target of ['books', 'series'] as const)
    for (const [field, { family, words = [] }] of Object.entries(FILTER_FIELDS[target])) {
      const operand = words[0] === undefined ? OPERANDS[family] : { operator: 'is', value: words[0] }
      const condition = compileFilter({ [field]: operand }, target, caller)
      const { sql, bindings } = condition.whole ?? condition
      const counting = database(target)
        .count()
        .whereRaw(sql, bindings as string[])
      if (target === 'books' && field !== 'deleted') counting.whereNull('books.deleted_at')
      const { rows: lines } = await database.raw('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON) ?', [counting])
      const plan = lines.map((line: Record<string, string>) => line['QUERY PLAN'] as string)
      const scans = plan.flatMap((line: string) => /(?:->\s+)?((?:\w+ )*Scan(?: using \w+)?(?: on \w+)?)/.exec(line)?.[1] ?? [])
      rows[`${target} ${field}`] = { ms: Math.round(Number(/[\d.]+/.exec(plan.at(-1) ?? '')?.[0])), plan: [...new Set(scans)].join(', ') }
      const readsAll = scans.includes('Seq Scan on books') || scans.includes('Parallel Seq Scan on books')
      if (readsAll && Number((await counting)[0]?.['count']) < books / 2) scanning.push(`${target} ${field}`)
    }
  await database.destroy()
  return { rows, scanning }
}
