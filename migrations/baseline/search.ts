const CJK = String.raw`[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]`

/** As in Unicode's Stream-Safe Text Format (UAX #15): the time to normalize a run of marks grows with the square of its length. */
const MARKS_IN_A_ROW_MAX = 30

/**
 * Every mark of Unicode, and the two halfwidth signs that become marks, as the ranges of a class in a regular expression of PostgreSQL, which knows no
 * classes of Unicode itself.
 */
function markRanges(): string {
  const escaped = (code: number) => `\\U${code.toString(16).padStart(8, '0')}`
  const isMark = (code: number) =>
    code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) && /[\p{M}\uff9e\uff9f]/u.test(String.fromCodePoint(code))
  let ranges = ''
  for (let code = 0x300; code <= 0x10ffff; code++) {
    if (!isMark(code)) continue
    const first = code
    while (isMark(code + 1)) code++
    ranges += `${escaped(first)}-${escaped(code)}`
  }
  return ranges
}

/** Functions that make the words of texts and of queries; documents and queries use the same ones. */
const wordsOf = (mark: string) => String.raw`
  -- The one folding of texts, for search, filters, groups and orders: case, accents and compatibility forms folded. Composed again at the end: what remains decomposed (Hangul, kana with marks) belongs together.
  -- Marks are bounded before the text is normalized: the time for that grows with the square of their number. ASCII and Latin texts have none.
  -- It calls no function of ours: columns are computed by it while a backup is restored, when only functions of PostgreSQL are found.
  CREATE FUNCTION carrel_fold(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
    DECLARE bounded text := given;
    BEGIN
      IF octet_length(given) = length(given) THEN RETURN lower(given COLLATE "C"); END IF;
      IF given ~ '[^\u0001-\u02ff]' THEN
        bounded := regexp_replace(given, '(${mark}{${MARKS_IN_A_ROW_MAX}})${mark}+', '\1', 'g');
      END IF;
      RETURN replace(replace(replace(translate(normalize(regexp_replace(
        lower(normalize(bounded, NFKD) COLLATE "und-x-icu"), '[\u0300-\u036f]', '', 'g'), NFC),
        'øłđıħŧ', 'oldiht'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
    END
  $$;

  -- A folded text for LIKE. Its signs are escaped afterwards: some letters become such a sign.
  CREATE FUNCTION carrel_pattern(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT regexp_replace(carrel_fold(given), '([\\%_])', '\\\1', 'g')
  $$;

  -- Words of a folded text. Runs of Chinese, Japanese and Korean have no spaces between words and are separate entries.
  CREATE FUNCTION carrel_words(given text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_remove(regexp_split_to_array(
      regexp_replace(carrel_fold(given), '([\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+)', ' \1 ', 'g')
        COLLATE "und-x-icu", '[^[:alnum:]\u3005]+'), '')
  $$;

  -- The words of a text with a weight: words as they are, runs of CJK as pairs of neighbors and their last character.
  -- Positions beyond 16383 are all the same to PostgreSQL; words beyond 500 characters are omitted.
  -- Texts without such runs use PostgreSQL's own parser, which is faster and finds the same words between single spaces, and between the signs that ordinary
  -- texts contain, except those inside of addresses, numbers and compounds: replacing these few takes a fifth of the time of replacing everything that
  -- is no letter or digit.
  -- Each run is split once, into characters with their successors: to find the n-th character of a text, PostgreSQL reads all before it.
  CREATE FUNCTION carrel_document(given text, weight "char") RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    DECLARE folded text;
    BEGIN
      IF given IS NULL OR given = '' THEN RETURN ''; END IF;
      IF octet_length(given) = length(given) THEN
        folded := replace(replace(replace(replace(lower(given COLLATE "C"), '.', ' '), '-', ' '), ':', ' '), '/', ' ');
        IF folded ~ '[^a-z0-9 ,;!?()''"\n\r\t]' THEN folded := regexp_replace(folded COLLATE "C", '[^a-z0-9]+', ' ', 'g'); END IF;
        RETURN setweight(to_tsvector('simple', folded), weight);
      END IF;
      folded := carrel_fold(given);
      IF given !~ '[^\u0001-\u02ff]' OR folded !~ '${CJK}' THEN
        RETURN setweight(to_tsvector('simple', regexp_replace(folded COLLATE "und-x-icu", '[^[:alnum:]]+', ' ', 'g')), weight);
      END IF;
      RETURN (SELECT coalesce(string_agg('''' || token || ''':' || least(place, 16383) || weight::text, ' '), '')::tsvector
        FROM (
          SELECT word AS token, place FROM unnest(carrel_words(given)) WITH ORDINALITY AS w (word, place) WHERE word !~ '^${CJK}'
          UNION ALL
          SELECT sign || coalesce(lead(sign) OVER (PARTITION BY place ORDER BY at), ''), place
          FROM unnest(carrel_words(given)) WITH ORDINALITY AS w (word, place)
          CROSS JOIN LATERAL string_to_table(word, NULL) WITH ORDINALITY AS s (sign, at) WHERE word ~ '^${CJK}'
        ) AS tokens WHERE length(token) <= 500);
    END
  $$;

  -- All words in any order; the beginning of a word suffices. Null when no word is left.
  CREATE FUNCTION carrel_search_query(given text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(DISTINCT '''' || token || '''' || CASE WHEN paired THEN '' ELSE ':*' END, ' & ')::tsquery
    FROM (
      SELECT CASE WHEN run THEN substr(word, start, 2) ELSE word END AS token, run AND length(word) > 1 AS paired
      FROM (SELECT word, word ~ '^${CJK}' AS run
            FROM unnest(carrel_words(given)) AS word) AS words
      CROSS JOIN LATERAL generate_series(1, CASE WHEN run THEN greatest(length(word) - 1, 1) ELSE 1 END) AS start
    ) AS tokens WHERE length(token) <= 500
  $$;

  CREATE FUNCTION carrel_people(authors jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT string_agg(person ->> 'name', ' ') FROM jsonb_array_elements(CASE jsonb_typeof(authors) WHEN 'array' THEN authors END) AS person
  $$;
`

const DOCUMENTS = `
  -- Repeats the columns by which lists restrict hits: counting thousands of hits does not read their books.
  CREATE TABLE book_search (
    book_id uuid PRIMARY KEY REFERENCES books ON DELETE CASCADE,
    library_id uuid NOT NULL,
    series_id uuid NOT NULL,
    deleted_at timestamptz,
    document tsvector NOT NULL
  );
  CREATE INDEX book_search_document ON book_search USING gin (document);
  CREATE TABLE series_search (series_id uuid PRIMARY KEY REFERENCES series ON DELETE CASCADE, document tsvector NOT NULL);
  CREATE INDEX series_search_document ON series_search USING gin (document);

  -- In the order of ids, so that two changes never deadlock on documents. A function in SQL is planned for some ten books,
  -- whatever their number: each of 100,000 was compared with each of their 5,000 series. An executed statement is planned for these ids.
  CREATE FUNCTION carrel_refresh_books(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $function$
    BEGIN EXECUTE $statement$
      WITH chosen AS MATERIALIZED (
        SELECT id, library_id, series_id, deleted_at, title, title_sort FROM books WHERE id = ANY($1)
      ), titled AS MATERIALIZED (
        SELECT s.id, carrel_document(concat_ws(' ', s.title,
          (SELECT string_agg(t.title, ' ') FROM series_alternate_titles t WHERE t.series_id = s.id)), 'B') AS document
        FROM series s WHERE s.id IN (SELECT series_id FROM chosen)
      )
      INSERT INTO book_search (book_id, library_id, series_id, deleted_at, document)
      SELECT b.id, b.library_id, b.series_id, b.deleted_at, carrel_document(concat_ws(' ', b.title, b.title_sort, m.original_title, m.subtitle), 'A')
        || titled.document
        -- Most books have no metadata.
        || CASE WHEN m.book_id IS NULL THEN '' ELSE carrel_document(concat_ws(' ', carrel_people(m.authors), m.isbns, m.publisher), 'C')
          || carrel_document(m.summary, 'D') END
      FROM chosen b JOIN titled ON titled.id = b.series_id LEFT JOIN book_metadata m ON m.book_id = b.id ORDER BY b.id
      ON CONFLICT (book_id) DO UPDATE
        SET library_id = excluded.library_id, series_id = excluded.series_id, deleted_at = excluded.deleted_at, document = excluded.document
        WHERE (book_search.library_id, book_search.series_id, book_search.deleted_at, book_search.document)
          IS DISTINCT FROM (excluded.library_id, excluded.series_id, excluded.deleted_at, excluded.document)
    $statement$ USING ids; END
  $function$;

  CREATE FUNCTION carrel_refresh_series(ids uuid[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO series_search (series_id, document)
    SELECT s.id, carrel_document(concat_ws(' ', s.title, s.title_sort), 'A')
      || carrel_document((SELECT string_agg(t.title, ' ') FROM series_alternate_titles t WHERE t.series_id = s.id), 'B')
      || carrel_document(concat_ws(' ', carrel_people(m.authors), m.publisher), 'C')
      || carrel_document(m.summary, 'D')
    FROM series s LEFT JOIN series_metadata m ON m.series_id = s.id WHERE s.id = ANY(ids) ORDER BY s.id
    ON CONFLICT (series_id) DO UPDATE SET document = excluded.document WHERE series_search.document <> excluded.document
  $$;
`

const TRIGGERS = `
  -- A scan adds books by the hundred: one refresh per statement.
  CREATE FUNCTION carrel_books_added() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM carrel_refresh_books(array(SELECT id FROM added)); RETURN NULL; END $$;
  CREATE TRIGGER books_search_added AFTER INSERT ON books REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_books_added();
  -- Of the many books that one statement changes, only those with another title or place get a new document.
  CREATE FUNCTION carrel_book_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE ids uuid[];
    BEGIN
      ids := array(SELECT n.id FROM changed n JOIN before o ON o.id = n.id
        WHERE (o.title, o.title_sort, o.library_id, o.series_id) IS DISTINCT FROM (n.title, n.title_sort, n.library_id, n.series_id));
      IF cardinality(ids) > 0 THEN PERFORM carrel_refresh_books(ids); END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER books_search_changed AFTER UPDATE ON books REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_book_changed();
  CREATE FUNCTION carrel_book_gone_or_back() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN UPDATE book_search SET deleted_at = NEW.deleted_at WHERE book_id = NEW.id; RETURN NULL; END $$;
  CREATE TRIGGER books_search_gone_or_back AFTER UPDATE OF deleted_at ON books FOR EACH ROW
    WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) EXECUTE FUNCTION carrel_book_gone_or_back();
  CREATE FUNCTION carrel_book_metadata_added() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE ids uuid[];
    BEGIN
      ids := array(SELECT book_id FROM changed WHERE num_nonnulls(original_title, subtitle, authors, isbns, publisher, summary) > 0);
      IF cardinality(ids) > 0 THEN PERFORM carrel_refresh_books(ids); END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER book_metadata_search_added AFTER INSERT ON book_metadata REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_book_metadata_added();
  -- A document costs milliseconds: changes of locks, sources and fields outside the document do not compute it again.
  CREATE FUNCTION carrel_book_metadata_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE ids uuid[];
    BEGIN
      ids := array(SELECT n.book_id FROM changed n JOIN before o ON o.book_id = n.book_id
        WHERE (o.original_title, o.subtitle, o.authors, o.isbns, o.publisher, o.summary)
          IS DISTINCT FROM (n.original_title, n.subtitle, n.authors, n.isbns, n.publisher, n.summary));
      IF cardinality(ids) > 0 THEN PERFORM carrel_refresh_books(ids); END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER book_metadata_search_changed AFTER UPDATE ON book_metadata REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_book_metadata_changed();

  CREATE FUNCTION carrel_series_added() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM carrel_refresh_series(array(SELECT id FROM added)); RETURN NULL; END $$;
  CREATE TRIGGER series_search_added AFTER INSERT ON series REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_added();
  CREATE FUNCTION carrel_series_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM carrel_refresh_series(ARRAY[NEW.id]);
      PERFORM carrel_refresh_books(array(SELECT id FROM books WHERE series_id = NEW.id));
      RETURN NULL;
    END $$;
  CREATE TRIGGER series_search_changed AFTER UPDATE OF title, title_sort ON series FOR EACH ROW
    WHEN ((OLD.title, OLD.title_sort) IS DISTINCT FROM (NEW.title, NEW.title_sort)) EXECUTE FUNCTION carrel_series_changed();
  CREATE FUNCTION carrel_series_metadata_added() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM carrel_refresh_series(array(SELECT series_id FROM changed)); RETURN NULL; END $$;
  CREATE TRIGGER series_metadata_search_added AFTER INSERT ON series_metadata REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_metadata_added();
  CREATE FUNCTION carrel_series_metadata_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM carrel_refresh_series(array(SELECT n.series_id FROM changed n JOIN before o ON o.series_id = n.series_id
        WHERE (o.authors, o.publisher, o.summary) IS DISTINCT FROM (n.authors, n.publisher, n.summary)));
      RETURN NULL;
    END $$;
  CREATE TRIGGER series_metadata_search_changed AFTER UPDATE ON series_metadata REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_series_metadata_changed();
  CREATE FUNCTION carrel_alternate_titles_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE ids uuid[];
    BEGIN
      -- A series that is being deleted has no row to index.
      ids := array(SELECT id FROM series WHERE id IN (SELECT series_id FROM changed));
      IF cardinality(ids) > 0 THEN
        PERFORM carrel_refresh_series(ids);
        PERFORM carrel_refresh_books(array(SELECT id FROM books WHERE series_id = ANY(ids)));
      END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER series_alternate_titles_search_added AFTER INSERT ON series_alternate_titles REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_alternate_titles_changed();
  CREATE TRIGGER series_alternate_titles_search_changed AFTER UPDATE ON series_alternate_titles REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_alternate_titles_changed();
  CREATE TRIGGER series_alternate_titles_search_removed AFTER DELETE ON series_alternate_titles REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION carrel_alternate_titles_changed();
`

/**
 * Full-text search over books and series. Triggers write the documents, so that code that changes a record cannot omit them. After the catalog and
 * its metadata.
 */
export const SEARCH = `${DOCUMENTS}${TRIGGERS}`

/** The functions of texts, before the tables with columns that they compute. */
export const textSql = () => wordsOf(`[${markRanges()}]`)
