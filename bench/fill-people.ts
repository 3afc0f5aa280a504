/** Writes the rows of people for authors that a benchmark inserted by SQL, as core/metadata/people-store.ts does. */
export const FILL_PEOPLE = `
  INSERT INTO people (name, name_key) SELECT DISTINCT a ->> 'name', lower(a ->> 'name') FROM book_metadata m CROSS JOIN LATERAL jsonb_array_elements(m.authors) a;
  INSERT INTO book_people (book_id, position, person_id, role) SELECT m.book_id, a.at - 1, p.id, a.value ->> 'role'
    FROM book_metadata m CROSS JOIN LATERAL jsonb_array_elements(m.authors) WITH ORDINALITY AS a (value, at) JOIN people p ON p.name_key = lower(a.value ->> 'name');
`
