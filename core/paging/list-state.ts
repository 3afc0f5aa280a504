/** What lists of a caller depend on, all of one moment. See migrations/baseline/numbers.ts. */
export interface ListState {
  /** How often the catalog was changed: while it is the same, so are all lists, except for what belongs to the caller. */
  catalog: string
  /** How often what belongs to the caller was changed: progress, wanted series, ratings, and rules of what they may see. */
  own: string
  /** How often ratings of any user were changed, on which averages depend. */
  averages: string
  /** What the caller may see, in one text that is equal for callers who see the same series. See core/account/visibility.ts. */
  sight: string
}
