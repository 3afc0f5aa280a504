/** The rows of people for lists of authors that a bench has written by SQL, as core/metadata/people-store.ts writes them. */
export const FILL_PEOPLE = `
  INSERT INTO people (name, name_key) SELECT DISTINCT a ->> 'name', lower(a ->> 'name') FROM book_metadata m CROSS JOIN LATERAL jsonb_array_elements(m.authors) a;
  INSERT INTO book_people (book_id, position, person_id, role) SELECT m.book_id, a.at - 1, p.id, a.value ->> 'role'
    FROM book_metadata m CROSS JOIN LATERAL jsonb_array_elements(m.authors) WITH ORDINALITY AS a (value, at) JOIN people p ON p.name_key = lower(a.value ->> 'name');
`
