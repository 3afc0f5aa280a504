import type { Knex } from 'knex'

/** The id of no user: queried when the user does not exist, so that the query takes as long. */
const NOBODY = '00000000-0000-0000-0000-000000000000'

/** Whether each of the marks is recorded for the user, in their order. */
export async function findKnownMarks(database: Knex, userId: string | null, marks: readonly Buffer[]): Promise<boolean[]> {
  const known: Buffer[] = await database('known_devices')
    .where('user_id', userId ?? NOBODY)
    .whereIn('mark', [...marks])
    .pluck('mark')
  return marks.map((mark) => known.some((one) => one.equals(mark)))
}

/** Records marks of a user and keeps the `marksMax` most recently used. */
export async function recordMarks(database: Knex, userId: string, marks: readonly Buffer[], marksMax: number): Promise<void> {
  await database.transaction(async (trx) => {
    // A user who was deleted in the meantime has no devices any more.
    if (!(await trx('users').where('id', userId).first('id').forShare())) return
    const now = new Date()
    await trx('known_devices')
      .insert(marks.map((mark) => ({ user_id: userId, mark, last_used_at: now })))
      .onConflict(['user_id', 'mark'])
      .merge(['last_used_at'])
    const kept = trx('known_devices').where('user_id', userId).orderBy('last_used_at', 'desc').limit(marksMax).select('mark')
    await trx('known_devices').where('user_id', userId).whereNotIn('mark', kept).delete()
  })
}

export async function forgetMarks(database: Knex, userId: string): Promise<void> {
  await database('known_devices').where('user_id', userId).delete()
}
