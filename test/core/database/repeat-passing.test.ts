import t from 'tap'
import { repeatPassing } from '#core/database/repeat-passing.ts'
import { openLibraryFixture } from '#test/support/library-fixture.ts'

t.setTimeout(240_000)

t.test('what meets another transaction is done again, a few times, and nothing else is', async (t) => {
  const failing = (code: string, times: number) => {
    const tried = { count: 0 }
    const run = async () => {
      tried.count += 1
      if (tried.count <= times) throw Object.assign(new Error('refused'), { code })
      return 'done'
    }
    return { tried, run }
  }
  for (const code of ['40P01', '23503']) {
    t.equal(await repeatPassing(failing(code, 2).run), 'done')
    const always = failing(code, 99)
    await t.rejects(repeatPassing(always.run), { code })
    t.equal(always.tried.count, 3)
  }
  const other = failing('23505', 1)
  await t.rejects(repeatPassing(other.run), { code: '23505' })
  t.equal(other.tried.count, 1)
})

t.test('a scan that ends in a deadlock with other work is completed', async (t) => {
  const fixture = await openLibraryFixture(t, { files: ['a/1.cbz', 'a/2.cbz', 'b/3.cbz'] })
  await fixture.database.raw(`
    CREATE SEQUENCE ends;
    CREATE FUNCTION deadlock() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF nextval('ends') = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER deadlock BEFORE UPDATE ON scans FOR EACH ROW WHEN (NEW.status = 'completed') EXECUTE FUNCTION deadlock()`)
  t.match(await fixture.scan(), { status: 'completed', filesTotal: 3, booksFound: 3, seriesFound: 2, errors: [] })
  t.equal((await fixture.books()).size, 3)
  const { rows } = await fixture.database.raw('SELECT last_value::int AS ends FROM ends')
  t.equal(rows[0].ends, 2)
})
