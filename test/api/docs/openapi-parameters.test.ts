import t from 'tap'
import { meaningOf } from '#api/docs/openapi-parameters.ts'

t.test('an id says of what it is, by where it stands', async (t) => {
  t.equal(meaningOf('path', 'readListId'), 'Id of the read list.')
  t.equal(meaningOf('query', 'libraryId'), 'Only entries of this library.')
  t.equal(meaningOf('path', 'externalIdId'), 'Id of the external id.')
  t.equal(meaningOf('path', 'externalId'), 'Id of the series at the service of the plugin.')
  t.equal(meaningOf('query', 'nothing'), undefined)
})
