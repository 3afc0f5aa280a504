import t from 'tap'
import { redirectProblem } from '#core/foundation/redirect-problem.ts'

t.test('a redirect to the same place elsewhere names the address to give, and any other says where it leads', (t) => {
  const asked = new URL('http://books.example.org/api/v1/admin/plugins')
  const elsewhere = (address: string) => `redirects to ${address}, as no Carrel server does. Give the address of the Carrel server itself.`
  for (const [location, said] of [
    ['https://books.example.org/api/v1/admin/plugins', 'redirects to https://books.example.org; give that address.'],
    ['//reading.example.org/api/v1/admin/plugins', 'redirects to http://reading.example.org; give that address.'],
    ['/login?next=%2F', elsewhere('http://books.example.org/login?next=%2F')],
    ['https://sso.example.net/\n✔ done', elsewhere('https://sso.example.net/%E2%9C%94%20done')],
    [null, 'redirects without an address, so it is no Carrel server. Check the address.'],
    ['http://[', 'redirects without an address, so it is no Carrel server. Check the address.'],
  ] as const)
    t.equal(redirectProblem(asked, location), `http://books.example.org ${said}`)
  t.end()
})
