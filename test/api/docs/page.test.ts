import { parseDocument } from 'htmlparser2'
import t from 'tap'
import { DOCS_PAGE, DOCS_POLICY, DOCS_START } from '#api/docs/page.ts'

interface Element {
  name?: string
  attribs?: Record<string, string>
  children?: Element[]
  data?: string
}

const elements = (node: Element): Element[] => [node, ...(node.children ?? []).flatMap(elements)]
const all = elements(parseDocument(DOCS_PAGE) as unknown as Element)

t.test('nothing in the page itself is run, and nothing of it styles itself', async (t) => {
  for (const { name, attribs = {}, children = [] } of all) {
    if (name === 'script') t.match([attribs['src'], children.length], [String, 0], 'scripts lie beside the page')
    t.not(name, 'style')
    t.same(
      Object.keys(attribs).filter((attribute) => attribute === 'style' || attribute.startsWith('on')),
      [],
    )
  }
})

t.test('every address is one of this server, wherever it stands', async (t) => {
  const addresses = all.flatMap(({ attribs = {} }) => ['src', 'href'].flatMap((name) => attribs[name] ?? []))
  t.ok(addresses.length >= 5)
  for (const address of addresses.filter((one) => one !== 'data:,')) t.match(address, /^(docs\/)?[\w.-]+$/)
  t.notMatch(DOCS_PAGE + DOCS_START, /https?:|\/\//)
  t.match(DOCS_START, /url: 'openapi\.json'/)
  t.match(DOCS_START, /validatorUrl: null/, 'the document is not shown to the service that the page knows')
})

t.test('the policy lets nothing in but files of this server', async (t) => {
  const policy = new Map(DOCS_POLICY.split('; ').map((part) => [part.split(' ')[0], part.split(' ').slice(1).join(' ')]))
  t.equal(policy.get('default-src'), "'none'")
  t.equal(policy.get('script-src'), "'self'")
  t.equal(policy.get('style-src'), "'self'")
  t.equal(policy.get('connect-src'), "'self'")
  t.equal(policy.get('frame-ancestors'), "'none'")
  t.notMatch(DOCS_POLICY, /unsafe|\*|https?:/)
})
