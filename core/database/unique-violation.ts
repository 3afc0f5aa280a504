/** PostgreSQL's code of a row that a unique index refuses. */
const UNIQUE_VIOLATION = '23505'

/** Whether another row has the value already. @param index only of this index */
export const isUniqueViolation = (error: unknown, index?: string): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === UNIQUE_VIOLATION &&
  (index === undefined || ('constraint' in error && error.constraint === index))
