import type { Knex } from 'knex'
import Type, { type Static } from 'typebox'
import { announceOwn } from '#core/events/event-store.ts'
import { Noun, Nullable } from '#core/foundation/schema.ts'
import { entryOf } from '#core/metadata/entry-query.ts'

/** The rating of a series by a user. */
interface UserRating {
  id: string
  userId: string
  seriesId: string
  rating: number
  notes: string | null
  createdAt: string
  updatedAt: string
}

export const AverageRating = Noun('AverageRating')({
  average: Nullable(Type.Number(), { description: 'Of all users; null if nobody has rated the series.' }),
  count: Type.Integer({ minimum: 0 }),
})
export type AverageRating = Static<typeof AverageRating>
export const NOT_RATED: AverageRating = { average: null, count: 0 }

/** @param rating.rating from 1 to 100 */
export async function saveUserRating(
  database: Knex,
  rating: { userId: string; seriesId: string; rating: number; notes: string | null },
): Promise<UserRating> {
  const row = { user_id: rating.userId, series_id: rating.seriesId, rating: rating.rating, notes: rating.notes }
  return await database.transaction(async (trx) => {
    const [saved] = await trx('series_user_ratings')
      .insert(row)
      .onConflict(['user_id', 'series_id'])
      .merge({ rating: rating.rating, notes: rating.notes, updated_at: trx.fn.now() })
      .returning('*')
    await announceOwn(trx, 'rating_updated', rating)
    return entryOf<UserRating>(saved)
  })
}

export async function deleteUserRating(database: Knex, userId: string, seriesId: string): Promise<void> {
  await database.transaction(async (trx) => {
    const rating = () => trx('series_user_ratings').where({ user_id: userId, series_id: seriesId })
    // Even a statement that deletes nothing counts as a change of the averages, on which the remembered answers of everybody depend.
    if ((await rating().first('id')) === undefined) return
    if ((await rating().delete()) > 0) await announceOwn(trx, 'rating_updated', { userId, seriesId })
  })
}

/** @param seriesId if absent: all ratings of the user */
export async function listUserRatings(database: Knex, userId: string, seriesId?: string): Promise<UserRating[]> {
  const query = database('series_user_ratings').where({ user_id: userId }).orderBy('updated_at', 'desc').orderBy('id')
  if (seriesId !== undefined) query.where({ series_id: seriesId })
  return (await query).map((row) => entryOf<UserRating>(row))
}

/** Averages of the ratings of all users, of those series that have any. */
export async function averageRatings(database: Knex, seriesIds: readonly string[]): Promise<Map<string, AverageRating>> {
  const rows = (await database('series_user_ratings')
    .whereRaw('series_id = ANY(CAST(? AS uuid[]))', [[...seriesIds]])
    .groupBy('series_id')
    .select('series_id', database.raw('avg(rating) AS average, count(*) AS count'))) as Record<string, string>[]
  return new Map(rows.map(({ series_id = '', average, count }) => [series_id, { average: Number(average), count: Number(count) }]))
}
