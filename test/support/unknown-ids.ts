import { randomUUID } from 'node:crypto'

/** Values of the path parameters that do not refer to a series; no entity has these ids. */
export const unknownIds = () => ({
  repositoryId: randomUUID(),
  callId: randomUUID(),
  annotationId: randomUUID(),
  readingId: randomUUID(),
  token: 'of-no-picture',
  exportId: randomUUID(),
  keyId: randomUUID(),
  apiKeyId: randomUUID(),
  sessionId: randomUUID(),
  titleId: randomUUID(),
  altTitleId: randomUUID(),
  alternateTitleId: randomUUID(),
  externalIdId: randomUUID(),
  externalId: 'x',
  linkId: randomUUID(),
  ratingId: randomUUID(),
  source: 'mal',
  id: randomUUID(),
  name: 'x',
})
