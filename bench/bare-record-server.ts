/**
 * The least that a server does for a record, a list or a small file: one prepared statement with three joins, or one read. Arguments: URL of the database,
 * file.
 */
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import pg from 'pg'

const [url, file] = process.argv.slice(2) as [string, string]
const pool = new pg.Pool({ connectionString: url, max: 10 })
const JOINED = `SELECT b.*, s.title AS series_name, l.name AS library_name, to_jsonb(p) AS progress FROM books b JOIN series s ON s.id = b.series_id
  JOIN libraries l ON l.id = b.library_id LEFT JOIN read_progress p ON p.book_id = b.id AND p.user_id = (SELECT id FROM users LIMIT 1)`
const BOOK = `${JOINED} WHERE b.id = $1`
const BOOKS = `${JOINED} WHERE b.deleted_at IS NULL ORDER BY b.created_at, b.id LIMIT 50`
const SERIES = `SELECT s.*, l.name AS library_name, m.summary, (SELECT count(*) FROM books b WHERE b.series_id = s.id) AS books
  FROM series s JOIN libraries l ON l.id = s.library_id LEFT JOIN series_metadata m ON m.series_id = s.id ORDER BY s.created_at, s.id LIMIT 50`

const send = (response: ServerResponse, type: string, bytes: Buffer) => {
  response.writeHead(200, { 'content-type': type, 'content-length': bytes.length })
  response.end(bytes)
}

const server = createServer(async (request, response) => {
  const path = request.url ?? ''
  if (path === '/file') return send(response, 'image/jpeg', await readFile(file))
  const id = path.startsWith('/book/') ? path.slice(6) : null
  const query = id === null ? { name: path, text: path === '/books' ? BOOKS : SERIES } : { name: 'book', text: BOOK, values: [id] }
  const { rows } = await pool.query(query)
  send(response, 'application/json', Buffer.from(JSON.stringify(rows)))
}).listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(address.port)
})
