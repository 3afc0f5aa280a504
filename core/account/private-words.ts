/**
 * A plugin may put anything that it has read into its words: ratings, progress, titles. So what it says in a call for a user is for that user, and
 * administrators see the time, the length, the hosts and the code of the call. The same holds for what a task of a user says.
 */
export const PRIVATE = '(words about another user)'

/** Whether somebody may read the words of a plugin in a call for a user. @param readerId null for the log of the server, which many may read */
export const mayRead = (userId: string | null, readerId: string | null): boolean => userId === null || userId === readerId

export const wordsFor = (text: string, userId: string | null, readerId: string | null): string =>
  mayRead(userId, readerId) ? text : PRIVATE
