import type { Knex } from 'knex'
import type { Problem } from '#core/fields/analysis.ts'
import { storable, storableMember } from '#core/foundation/storable-text.ts'

/**
 * Records a page that could not be shown as an error of its book; the next analysis clears it. One error per book and type is
 * stored: an error that the analysis found stays unchanged, since it says more than the one page does.
 */
export async function recordPageProblem(database: Knex, bookId: string, problem: Problem): Promise<void> {
  const recorded = { book_id: bookId, error_type: problem.type }
  // Even an insert that adds nothing counts as a change of the catalog, so that each request for a damaged page would make all remembered lists outdated.
  if ((await database('book_errors').where(recorded).first('book_id')) !== undefined) return
  await database('book_errors')
    .insert({
      ...recorded,
      message: storable(problem.message),
      details: problem.details ? JSON.stringify(problem.details, storableMember) : null,
      // The book was analyzed, so its other pages can be read.
      fatal: false,
    })
    .onConflict(['book_id', 'error_type'])
    .ignore()
}
