import type { Knex } from 'knex'
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

/** @param rating.rating from 1 to 100 */
export async function saveUserRating(
  database: Knex,
  rating: { userId: string; seriesId: string; rating: number; notes: string | null },
): Promise<UserRating> {
  const row = { user_id: rating.userId, series_id: rating.seriesId, rating: rating.rating, notes: rating.notes }
  const [saved] = await database('series_user_ratings')
    .insert(row)
    .onConflict(['user_id', 'series_id'])
    .merge({ rating: rating.rating, notes: rating.notes, updated_at: database.fn.now() })
    .returning('*')
  return entryOf(saved) as unknown as UserRating
}

export async function deleteUserRating(database: Knex, userId: string, seriesId: string): Promise<void> {
  await database('series_user_ratings').where({ user_id: userId, series_id: seriesId }).delete()
}

/** @param seriesId if absent: all ratings of the user */
export async function listUserRatings(database: Knex, userId: string, seriesId?: string): Promise<UserRating[]> {
  const query = database('series_user_ratings').where({ user_id: userId }).orderBy('updated_at', 'desc').orderBy('id')
  if (seriesId !== undefined) query.where({ series_id: seriesId })
  return (await query).map((row) => entryOf(row) as unknown as UserRating)
}

/** Null if no user has rated the series. */
export async function averageRating(database: Knex, seriesId: string): Promise<{ average: number | null; count: number }> {
  const row = await database('series_user_ratings').where({ series_id: seriesId }).avg({ average: 'rating' }).count({ count: '*' }).first()
  return { average: row?.average == null ? null : Number(row.average), count: Number(row?.count ?? 0) }
}
