import t from 'tap'
import { repositoryFolder } from '#plugins/repositories/repository-url.ts'

t.test('a URL refers to a folder', async (t) => {
  const folder = 'https://plugins.example.org/carrel/'
  for (const given of ['', 'index.json', '../carrel', './', '../carrel/index.json'])
    t.equal(repositoryFolder(folder + given), folder, given)
  t.equal(repositoryFolder('https://PLUGINS.example.org/carrel'), folder)
  t.equal(repositoryFolder('https://plugins.example.org:443/carrel'), folder, 'the default port is dropped')
  t.equal(repositoryFolder('https://plugins.example.org'), 'https://plugins.example.org/')
  t.equal(repositoryFolder('https://bücher.example/a'), 'https://xn--bcher-kva.example/a/')
  t.equal(repositoryFolder('https://example.org/my-index.json'), 'https://example.org/my-index.json/', 'only index.json is dropped')
})

t.test('or it is refused, with the path in the request', async (t) => {
  const bad = [
    '',
    'example.org',
    'http://example.org/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://[::ffff:10.0.0.1]/',
    'https://example.org:8080/',
  ]
  for (const text of [...bad, 'https://a@example.org/', 'https://example.org/?a', 'https://example.org/#a', 'data:text/plain,a'])
    t.throws(() => repositoryFolder(text), { code: 'invalid_value', details: [{ path: '/url' }] }, text)
})
