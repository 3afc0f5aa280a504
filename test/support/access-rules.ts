import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { AgeRule } from '#core/account/access.ts'

/** Whose rule it is, as columns of `access_rules`. */
export type RuleOwner = { user_id: string } | { api_key_id: string }

/** A rule in a few words; what is absent hides nothing. */
export interface TestRule {
  libraries?: readonly string[]
  age?: AgeRule
}

/** Writes a rule directly, in place of the one before; null removes it. */
export async function setTestRule(database: Knex, owner: RuleOwner, rule: TestRule | null): Promise<void> {
  await database('access_rules').where(owner).delete()
  if (rule === null) return
  const { libraries, age } = rule
  const aged = age && { age_mode: age.mode, age_years: age.years, shows_unrated: age.unrated === 'show' }
  const [{ viewer_id }] = await database('access_rules').insert({ ...owner, all_libraries: libraries === undefined, ...aged }, [
    'viewer_id',
  ])
  if (libraries?.length) await database('access_libraries').insert(libraries.map((library_id) => ({ viewer_id, library_id })))
}

/** Inserts an API key with all permissions of its user; nobody knows its secret. @returns its id */
export async function addTestKey(database: Knex, userId: string): Promise<string> {
  const key = { user_id: userId, name: 'tablet', key_prefix: randomUUID(), key_hash: Buffer.alloc(32), permissions: [] }
  const [{ id }] = await database('api_keys').insert(key, ['id'])
  return id
}

export async function rateSeries(database: Knex, seriesId: string, age: number | null): Promise<void> {
  await database('series_metadata').insert({ series_id: seriesId, age_rating: age }).onConflict('series_id').merge(['age_rating'])
}
