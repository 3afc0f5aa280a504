import t from 'tap'
import { openMatchingServer } from '#test/support/matching-server.ts'

t.setTimeout(240_000)

t.test('a call in another form is refused with the constant, the form and the member', async (t) => {
  const { ask, pluginId } = await openMatchingServer(t)
  const FORM = 'must be "ping" or an object with metadata'
  const MESSAGES: [unknown, string][] = [
    [{ action: 'search' }, `The member action ${FORM}.`],
    [{ action: 5 }, `The member action ${FORM}.`],
    [
      { action: { metadata: { action: 'fetch', contentType: 'series' } } },
      'The member action/metadata/action must be one of search, get, match.',
    ],
    [{ action: { metadata: { action: 'get' } } }, 'The member action/metadata/contentType is missing.'],
    [{ action: { metdata: {} } }, 'The member action/metadata is missing. The member metdata is unknown. Did you mean metadata?'],
    [{}, 'The member action is missing.'],
  ]
  for (const [body, message] of MESSAGES) {
    const { status, json } = await ask<{ message: string }>('POST', `plugins/${pluginId}/execute`, body)
    t.ok(status === 400 || status === 422, String(status))
    t.equal(json.message, message, JSON.stringify(body))
  }
  t.match(await ask('POST', `plugins/${pluginId}/execute`, { action: 'ping' }), { status: 200, json: { success: true } })
})
