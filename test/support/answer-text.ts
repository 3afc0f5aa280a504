/** The text of an answer without what differs between any two answers: the id of its request, and the moment at which it was given. */
export const withoutMoment = (text: string): string => text.replaceAll(/"(requestId|timestamp|asOf)":"[^"]*"/g, '')
