import type { SeriesStrategy } from '#core/catalog/library.ts'

/** The number of books of each series, by its path; of one among several in a folder, by the path, "#" and its title. */
type Expected = Readonly<Record<string, number>>

/** A tree of files, and the series that come out of it. */
export interface Tree {
  name: string
  /** The rule of `auto` that it shows in the documentation. */
  shows?: 'calibre' | 'oneshots' | 'part' | 'side' | 'bundle' | 'folder' | 'author'
  /** Paths below the library; `{01-03}` stands for 01, 02 and 03, and `{}` repeats it. */
  files: readonly string[]
  /** The series in the metadata of books, by the beginning of their path. */
  named?: Readonly<Record<string, string>>
  /** Whom all books name as writers. */
  writers?: readonly string[]
  auto: Expected
  own: { strategy: SeriesStrategy; config?: object; series: Expected; isShown?: true }
  /** Values of books that `auto` reads from names of folders, by path. */
  values?: Readonly<Record<string, object>>
  /** Books beside the numbered ones. */
  side?: number
  /** The publisher of each series, by `auto`; undefined for none. */
  publishers?: Readonly<Record<string, string | undefined>>
}

const volumes = (series: Expected, isShown?: true): Tree['own'] => ({ strategy: 'series_volume', series, ...(isShown && { isShown }) })

export const TREES: readonly Tree[] = [
  // Manga.
  {
    name: 'a manga in volume folders',
    shows: 'part',
    files: ['Manga/Berserk/Vol {1-3}/{}.cbz'],
    auto: { 'Manga/Berserk': 3 },
    own: { strategy: 'series_volume_chapter', series: { 'Manga/Berserk': 3 }, isShown: true },
    values: { 'Manga/Berserk/Vol 2/2.cbz': { volume: 2 } },
  },
  {
    name: 'a manga of files',
    shows: 'folder',
    files: ['One Piece/One Piece v{01-05}.cbz', 'Naruto/Naruto v{01-02}.cbz'],
    auto: { 'One Piece': 5, Naruto: 2 },
    own: volumes({ 'One Piece': 5, Naruto: 2 }, true),
  },
  {
    name: 'chapter folders in volume folders',
    files: ['Manga/Monster/Volume {01-02}/Chapter 00{}/Monster c001.cbz'],
    auto: { 'Manga/Monster': 2 },
    own: { strategy: 'series_volume_chapter', series: { 'Manga/Monster/Volume 01': 1, 'Manga/Monster/Volume 02': 1 } },
    values: { 'Manga/Monster/Volume 02/Chapter 0002/Monster c001.cbz': { volume: 2, chapter: 2 } },
  },
  {
    name: 'chapter folders',
    files: ['Bleach/Chapter {001-003}/pages.cbz'],
    auto: { Bleach: 3 },
    own: { strategy: 'series_volume_chapter', series: { Bleach: 3 } },
    values: { 'Bleach/Chapter 003/pages.cbz': { chapter: 3 } },
  },
  {
    name: 'arcs and seasons',
    files: ['Manga/One Piece/Arc {1-2}/One Piece c00{}.cbz', 'Manga/Overlord/Season 2/Overlord {01-02}.cbz'],
    auto: { 'Manga/One Piece': 2, 'Manga/Overlord': 2 },
    own: volumes({ 'Manga/One Piece/Arc 1': 1, 'Manga/One Piece/Arc 2': 1, 'Manga/Overlord/Season 2': 2 }),
  },
  {
    name: 'Japanese volume folders',
    files: ['漫画/鋼の錬金術師/第{1-2}巻/本.cbz', '漫画/鋼の錬金術師/第三巻/本.cbz'],
    auto: { '漫画/鋼の錬金術師': 3 },
    own: { strategy: 'series_volume_chapter', series: { '漫画/鋼の錬金術師': 3 } },
    values: { '漫画/鋼の錬金術師/第三巻/本.cbz': { volume: 3 } },
  },
  {
    name: 'Korean volume folders',
    files: ['만화/나 혼자만 레벨업/{1-2}권/책.cbz'],
    auto: { '만화/나 혼자만 레벨업': 2 },
    own: { strategy: 'series_volume_chapter', series: { '만화/나 혼자만 레벨업': 2 } },
  },
  {
    name: 'Russian volume folders',
    files: ['Манга/Наруто/Том {1-2}/книга.cbz'],
    auto: { 'Манга/Наруто': 2 },
    own: { strategy: 'series_volume_chapter', series: { 'Манга/Наруто': 2 } },
    values: { 'Манга/Наруто/Том 2/книга.cbz': { volume: 2 } },
  },
  {
    name: 'first and last volumes in Japanese',
    files: ['小説/雪国/上/本.epub', '小説/雪国/下巻/本.epub'],
    auto: { '小説/雪国': 2 },
    own: volumes({ '小説/雪国/上': 1, '小説/雪国/下巻': 1 }),
  },
  {
    name: 'full-width digits',
    files: ['漫画/寄生獣/第１巻/本.cbz', '漫画/寄生獣/第２巻/本.cbz'],
    auto: { '漫画/寄生獣': 2 },
    own: volumes({ '漫画/寄生獣/第１巻': 1, '漫画/寄生獣/第２巻': 1 }),
    values: { '漫画/寄生獣/第２巻/本.cbz': { volume: 2 } },
  },
  {
    name: 'Thai volume folders',
    files: ['การ์ตูน/วันพีซ/เล่ม ๑/ก.cbz', 'การ์ตูน/วันพีซ/เล่ม ๒/ก.cbz'],
    auto: { 'การ์ตูน/วันพีซ': 2 },
    own: volumes({ 'การ์ตูน/วันพีซ/เล่ม ๑': 1, 'การ์ตูน/วันพีซ/เล่ม ๒': 1 }),
    values: { 'การ์ตูน/วันพีซ/เล่ม ๒/ก.cbz': { volume: 2 } },
  },
  {
    name: 'ranges of volumes',
    files: ['Manga/Dragon Ball/v01-05/Dragon Ball v0{1-5}.cbz', 'Manga/Dragon Ball/Volumes 6-7/Dragon Ball v0{6-7}.cbz'],
    auto: { 'Manga/Dragon Ball': 7 },
    own: volumes({ 'Manga/Dragon Ball/v01-05': 5, 'Manga/Dragon Ball/Volumes 6-7': 2 }),
    values: { 'Manga/Dragon Ball/v01-05/Dragon Ball v01.cbz': {} },
  },
  {
    name: 'volume folders with the name of the series',
    files: ['Manga/Akira/Akira Vol. {1-3}/Akira.cbz'],
    auto: { 'Manga/Akira': 3 },
    own: { strategy: 'series_volume_chapter', series: { 'Manga/Akira': 3 } },
    values: { 'Manga/Akira/Akira Vol. 3/Akira.cbz': { volume: 3 } },
  },
  {
    name: 'volume folders directly below the library',
    files: ['Vol {1-2}/Berserk v0{}.cbz'],
    auto: { 'Vol 1': 1, 'Vol 2': 1 },
    own: volumes({ 'Vol 1': 1, 'Vol 2': 1 }),
  },
  {
    name: 'European albums in several languages',
    files: ['BD/Astérix/Tome {1-2}/album.cbz', 'BD/Tim und Struppi/Band 3/Album.cbz', 'BD/Blacksad/Tomo IV/album.cbz'],
    auto: { 'BD/Astérix': 2, 'BD/Tim und Struppi': 1, 'BD/Blacksad': 1 },
    own: { strategy: 'series_volume_chapter', series: { 'BD/Astérix': 2, 'BD/Tim und Struppi': 1, 'BD/Blacksad': 1 } },
    values: { 'BD/Blacksad/Tomo IV/album.cbz': { volume: 4 } },
  },
  {
    name: 'parts with titles are series of their own',
    files: ['Manga/JoJo/Part 1 - Phantom Blood/JoJo v{01-02}.cbz', 'Manga/JoJo/Part 2 - Battle Tendency/JoJo v{03-04}.cbz'],
    auto: { 'Manga/JoJo/Part 1 - Phantom Blood': 2, 'Manga/JoJo/Part 2 - Battle Tendency': 2 },
    own: volumes({ 'Manga/JoJo/Part 1 - Phantom Blood': 2, 'Manga/JoJo/Part 2 - Battle Tendency': 2 }),
  },
  // Western comics.
  {
    name: 'runs of a publisher',
    files: ['DC Comics/Batman (2011)/Batman {001-003}.cbz', 'DC Comics/Batman (2016)/Batman {001-002}.cbz'],
    auto: { 'DC Comics/Batman (2011)': 3, 'DC Comics/Batman (2016)': 2 },
    own: { strategy: 'publisher_hierarchy', series: { 'DC Comics/Batman (2011)': 3, 'DC Comics/Batman (2016)': 2 }, isShown: true },
    publishers: { 'DC Comics/Batman (2011)': 'DC Comics' },
  },
  {
    name: 'runs of one name below the name',
    files: ['Comics/Batman/Batman (2011)/Batman {001-002}.cbz', 'Comics/Batman/Batman (2016)/Batman {001-003}.cbz'],
    auto: { 'Comics/Batman/Batman (2011)': 2, 'Comics/Batman/Batman (2016)': 3 },
    own: volumes({ 'Comics/Batman/Batman (2011)': 2, 'Comics/Batman/Batman (2016)': 3 }),
  },
  {
    name: 'publisher, imprint and series',
    files: ['DC/Vertigo/Sandman/Sandman {001-003}.cbz', 'DC/Vertigo/Preacher/Preacher {001-002}.cbz'],
    auto: { 'DC/Vertigo/Sandman': 3, 'DC/Vertigo/Preacher': 2 },
    own: {
      strategy: 'publisher_hierarchy',
      config: { skipDepth: 2, storeSkippedAs: 'imprint' },
      series: { 'DC/Vertigo/Sandman': 3, 'DC/Vertigo/Preacher': 2 },
    },
  },
  {
    name: 'a publisher with files that are too shallow',
    files: ['Image/Saga/Saga {001-002}.cbz', 'Image/Loose.cbz', 'Root.cbz'],
    auto: { 'Image/Saga': 2, Image: 1, 'Root.cbz': 1 },
    own: { strategy: 'publisher_hierarchy', series: { 'Image/Saga': 2, '#Unsorted': 2 } },
  },
  {
    name: 'downloads in one folder',
    shows: 'bundle',
    files: [
      'Downloads/Batman {001-003} (2016) (Digital).cbz',
      'Downloads/Saga {001-002} (2012) (Digital).cbz',
      'Downloads/Monstress {01-02}.cbz',
    ],
    auto: { 'Downloads#Batman': 3, 'Downloads#Saga': 2, 'Downloads#Monstress': 2 },
    own: {
      strategy: 'flat',
      series: { 'Downloads#Batman': 3, 'Downloads#Saga': 2, 'Downloads#Monstress': 2 },
      isShown: true,
    },
  },
  {
    name: 'a flat library',
    files: ['Batman {001-006}.cbz', 'Saga {001-005}.cbz', 'Watchmen.cbz'],
    auto: { '#Batman': 6, '#Saga': 5, 'Watchmen.cbz': 1 },
    own: { strategy: 'flat', series: { '#Batman': 6, '#Saga': 5, '#Watchmen': 1 } },
  },
  {
    name: 'unrelated files in the root',
    files: ['Watchmen.cbz', 'Maus.cbz', 'Persepolis.pdf'],
    auto: { 'Watchmen.cbz': 1, 'Maus.cbz': 1, 'Persepolis.pdf': 1 },
    own: volumes({ 'Watchmen.cbz': 1, 'Maus.cbz': 1, 'Persepolis.pdf': 1 }),
  },
  {
    name: 'one series with guests is no bundle',
    files: ['Hulk/Hulk {001-009}.cbz', 'Hulk/Wolverine {001-002}.cbz'],
    auto: { Hulk: 11 },
    own: volumes({ Hulk: 11 }),
  },
  {
    name: 'a crossover in one folder',
    files: ['Events/Civil War {01-03}.cbz', 'Events/Secret Invasion {01-03}.cbz'],
    auto: { 'Events#Civil War': 3, 'Events#Secret Invasion': 3 },
    own: { strategy: 'flat', series: { 'Events#Civil War': 3, 'Events#Secret Invasion': 3 } },
  },
  {
    name: 'a folder with a series of four fifths and one guest stays whole',
    files: ['Mix/Hellboy {01-09}.cbz', 'Mix/Abe {01-02}.cbz'],
    auto: { Mix: 11 },
    own: volumes({ Mix: 11 }),
  },
  {
    name: 'chapter titles are no series',
    files: ['Yotsuba/{01-04} - A Day.cbz'],
    auto: { Yotsuba: 4 },
    own: volumes({ Yotsuba: 4 }),
  },
  {
    name: 'metadata names the series of a bundle',
    files: ['In/bat {001-002}.cbz', 'In/sup {001-002}.cbz'],
    named: { 'In/bat': 'Batman', 'In/sup': 'Superman' },
    auto: { 'In#Batman': 2, 'In#Superman': 2 },
    own: { strategy: 'flat', series: { 'In#Batman': 2, 'In#Superman': 2 } },
  },
  {
    name: 'annuals beside issues',
    shows: 'side',
    files: ['Marvel/Hulk/Hulk {001-003}.cbz', 'Marvel/Hulk/Annuals/Hulk Annual 01.cbz', 'Marvel/Hulk/Hulk Specials/Hulk Special.cbz'],
    auto: { 'Marvel/Hulk': 5 },
    own: volumes({ 'Marvel/Hulk': 3, 'Marvel/Hulk/Annuals': 1, 'Marvel/Hulk/Hulk Specials': 1 }),
    side: 2,
  },
  {
    name: 'specials of a manga',
    files: ['One Piece/One Piece v{01-02}.cbz', 'One Piece/Specials/Romance Dawn.cbz', 'One Piece/番外編/話.cbz'],
    auto: { 'One Piece': 4 },
    own: volumes({ 'One Piece': 2, 'One Piece/Specials': 1, 'One Piece/番外編': 1 }),
    side: 2,
  },
  {
    name: 'omake in years',
    files: ['Manga/Gintama/Omake/2010/a.cbz', 'Manga/Gintama/Gintama v01.cbz'],
    auto: { 'Manga/Gintama': 2 },
    own: volumes({ 'Manga/Gintama/Omake/2010': 1, 'Manga/Gintama': 1 }),
    side: 1,
  },
  {
    name: 'specials directly below the library are a series',
    files: ['Specials/A {01-02}.cbz'],
    auto: { Specials: 2 },
    own: volumes({ Specials: 2 }),
    side: 0,
  },
  {
    name: 'an omnibus beside issues',
    files: ['Comics/Invincible/Issues/Invincible {001-002}.cbz', 'Comics/Invincible/Compendium/Invincible Compendium 1.cbz'],
    auto: { 'Comics/Invincible': 3 },
    own: volumes({ 'Comics/Invincible/Issues': 2, 'Comics/Invincible/Compendium': 1 }),
  },
  {
    name: 'a deluxe edition with the name of the series',
    files: ['Comics/Saga/Saga Deluxe/Saga v01.cbz', 'Comics/Saga/Saga {001-002}.cbz'],
    auto: { 'Comics/Saga': 3 },
    own: volumes({ 'Comics/Saga/Saga Deluxe': 1, 'Comics/Saga': 2 }),
  },
  {
    name: 'a series inside a folder of its own name',
    files: ['Comics/Bone/Bone/Bone {01-03}.cbz'],
    auto: { 'Comics/Bone': 3 },
    own: volumes({ 'Comics/Bone/Bone': 3 }),
  },
  {
    name: 'one-shots',
    shows: 'oneshots',
    files: ['One Shots/Watchmen.cbz', 'One Shots/Maus.cbz', '_oneshots/Nimona.cbz'],
    auto: { 'One Shots/Watchmen.cbz': 1, 'One Shots/Maus.cbz': 1, '_oneshots/Nimona.cbz': 1 },
    own: volumes({ 'One Shots': 2, _oneshots: 1 }),
  },
  {
    name: 'one-shots in other languages',
    files: ['漫画/読み切り/一.cbz', '漫画/読み切り/二.cbz', '만화/단편/하나.cbz'],
    auto: { '漫画/読み切り/一.cbz': 1, '漫画/読み切り/二.cbz': 1, '만화/단편/하나.cbz': 1 },
    own: volumes({ '漫画/読み切り': 2, '만화/단편': 1 }),
  },
  {
    name: 'one-shots in years',
    files: ['Standalone/2019/A.cbz', 'Standalone/2020/B.cbz'],
    auto: { 'Standalone/2019/A.cbz': 1, 'Standalone/2020/B.cbz': 1 },
    own: volumes({ 'Standalone/2019': 1, 'Standalone/2020': 1 }),
  },
  // Magazines.
  {
    name: 'a magazine by years',
    files: ['Magazines/Wired/2019/Wired 2019-{01-02}.pdf', 'Magazines/Wired/2020/Wired 2020-01.pdf'],
    auto: { 'Magazines/Wired': 3 },
    own: { strategy: 'series_volume_chapter', series: { 'Magazines/Wired': 3 } },
    values: { 'Magazines/Wired/2020/Wired 2020-01.pdf': {} },
  },
  {
    name: 'a magazine by years and months',
    files: ['Magazines/Byte/1985/{01-03}/Byte.pdf'],
    auto: { 'Magazines/Byte': 3 },
    own: volumes({ 'Magazines/Byte/1985/01': 1, 'Magazines/Byte/1985/02': 1, 'Magazines/Byte/1985/03': 1 }),
  },
  {
    name: 'a magazine by issue folders',
    files: ['Magazines/Spawn/Issue {1-2}/Spawn.cbz'],
    auto: { 'Magazines/Spawn': 2 },
    own: volumes({ 'Magazines/Spawn/Issue 1': 1, 'Magazines/Spawn/Issue 2': 1 }),
    values: { 'Magazines/Spawn/Issue 2/Spawn.cbz': { volume: 2 } },
  },
  {
    name: 'a magazine by dates',
    files: [
      'Zeitung/Der Spiegel/2020-05/Spiegel.pdf',
      'Zeitung/Der Spiegel/2020-06-13/Spiegel.pdf',
      'Zeitung/Der Spiegel/2010-2019/Spiegel.pdf',
    ],
    auto: { 'Zeitung/Der Spiegel': 3 },
    own: { strategy: 'series_volume_chapter', series: { 'Zeitung/Der Spiegel': 3 } },
  },
  // Books.
  {
    name: 'a Calibre library before its first analysis',
    files: [
      'metadata.db',
      'Brandon Sanderson/The Final Empire (1)/The Final Empire - Brandon Sanderson.epub',
      'Brandon Sanderson/The Final Empire (1)/metadata.opf',
      'Brandon Sanderson/Elantris (3)/Elantris - Brandon Sanderson.epub',
    ],
    auto: {
      'Brandon Sanderson/The Final Empire (1)/The Final Empire - Brandon Sanderson.epub': 1,
      'Brandon Sanderson/Elantris (3)/Elantris - Brandon Sanderson.epub': 1,
    },
    own: {
      strategy: 'calibre',
      series: {
        'Brandon Sanderson/The Final Empire (1)/The Final Empire - Brandon Sanderson.epub': 1,
        'Brandon Sanderson/Elantris (3)/Elantris - Brandon Sanderson.epub': 1,
      },
    },
  },
  {
    name: 'a Calibre library',
    shows: 'calibre',
    files: [
      'metadata.db',
      'Brandon Sanderson/The Final Empire (1)/The Final Empire - Brandon Sanderson.epub',
      'Brandon Sanderson/The Well of Ascension (2)/The Well of Ascension - Brandon Sanderson.epub',
      'Brandon Sanderson/Elantris (3)/Elantris - Brandon Sanderson.epub',
    ],
    named: { 'Brandon Sanderson/The ': 'Mistborn' },
    auto: { '#Mistborn': 2, 'Brandon Sanderson/Elantris (3)/Elantris - Brandon Sanderson.epub': 1 },
    own: {
      strategy: 'calibre',
      series: { '#Mistborn': 2, 'Brandon Sanderson/Elantris (3)/Elantris - Brandon Sanderson.epub': 1 },
      isShown: true,
    },
  },
  {
    name: 'a Calibre series of two authors',
    files: [
      'Books/metadata.db',
      'Books/Robert Jordan/The Eye of the World (1)/The Eye of the World.epub',
      'Books/Robert Jordan & Brandon Sanderson/The Gathering Storm (2)/The Gathering Storm.epub',
    ],
    named: { Books: 'The Wheel of Time' },
    auto: { 'Books#The Wheel of Time': 2 },
    own: { strategy: 'calibre', series: { 'Books#The Wheel of Time': 2 } },
  },
  {
    name: 'a Calibre library by author',
    files: ['metadata.db', 'Jane Austen/Emma ({1-2})/Emma.epub', 'Leo Tolstoy/War and Peace (3)/War and Peace.epub'],
    auto: {
      'Jane Austen/Emma (1)/Emma.epub': 1,
      'Jane Austen/Emma (2)/Emma.epub': 1,
      'Leo Tolstoy/War and Peace (3)/War and Peace.epub': 1,
    },
    own: { strategy: 'calibre', config: { seriesMode: 'by_author' }, series: { 'Jane Austen': 2, 'Leo Tolstoy': 1 } },
  },
  {
    name: 'a Calibre folder without its database',
    files: ['Jane Austen/Emma (7)/Emma.epub', 'Jane Austen/Emma (7)/metadata.opf'],
    auto: { 'Jane Austen/Emma (7)/Emma.epub': 1 },
    own: { strategy: 'calibre', config: { seriesMode: 'standalone' }, series: { 'Jane Austen/Emma (7)/Emma.epub': 1 } },
  },
  {
    name: 'a run with a year and a file that describes it is no Calibre folder',
    files: ['Comics/Saga (2012)/Saga {001-003}.cbz', 'Comics/Saga (2012)/metadata.opf'],
    auto: { 'Comics/Saga (2012)': 3 },
    own: volumes({ 'Comics/Saga (2012)': 3 }),
  },
  {
    name: 'author, series and book',
    files: ['Terry Pratchett/Discworld/{01-03} Book.epub'],
    auto: { 'Terry Pratchett/Discworld': 3 },
    own: { strategy: 'publisher_hierarchy', config: { storeSkippedAs: 'author' }, series: { 'Terry Pratchett/Discworld': 3 } },
  },
  {
    name: 'author and book, before the first analysis',
    files: ['Jane Austen/Emma.epub', 'Jane Austen/Persuasion.epub'],
    auto: { 'Jane Austen': 2 },
    own: volumes({ 'Jane Austen': 2 }),
  },
  {
    name: 'the books of a person',
    shows: 'author',
    files: ['Pratchett, Terry/Mort.epub', 'Pratchett, Terry/Sourcery.epub', 'Pratchett, Terry/Nation.epub', 'Pratchett, Terry/Dodger.epub'],
    named: { 'Pratchett, Terry/Mort': 'Discworld', 'Pratchett, Terry/Sourcery': 'Discworld' },
    writers: ['Terry Pratchett'],
    auto: {
      'Pratchett, Terry#Discworld': 2,
      'Pratchett, Terry/Nation.epub': 1,
      'Pratchett, Terry/Dodger.epub': 1,
    },
    own: volumes({ 'Pratchett, Terry': 4 }),
  },
  {
    name: 'the books of a person that agree on a series',
    files: ['Terry Pratchett/Mort.epub', 'Terry Pratchett/Sourcery.epub', 'Terry Pratchett/Eric.epub'],
    named: { 'Terry Pratchett/Mort': 'Discworld', 'Terry Pratchett/Eric': 'Discworld' },
    writers: ['Terry Pratchett'],
    auto: { 'Terry Pratchett': 3 },
    own: volumes({ 'Terry Pratchett': 3 }),
  },
  {
    name: 'books of other people in a folder with the name of a series',
    files: ['Discworld/Mort.epub', 'Discworld/Sourcery.epub'],
    writers: ['Terry Pratchett'],
    auto: { Discworld: 2 },
    own: volumes({ Discworld: 2 }),
  },
  {
    name: 'author and title - author',
    files: ['Novels/Emma/Emma - Jane Austen.epub', 'Novels/Persuasion/Persuasion - Jane Austen.epub'],
    auto: { 'Novels/Emma': 1, 'Novels/Persuasion': 1 },
    own: volumes({ 'Novels/Emma': 1, 'Novels/Persuasion': 1 }),
  },
  {
    name: 'light novels in volume folders',
    files: ['LN/Spice and Wolf/Volume {01-02}/Spice and Wolf.epub'],
    auto: { 'LN/Spice and Wolf': 2 },
    own: { strategy: 'series_volume_chapter', series: { 'LN/Spice and Wolf': 2 } },
    values: { 'LN/Spice and Wolf/Volume 02/Spice and Wolf.epub': { volume: 2 } },
  },
  // Places and names.
  {
    name: 'equal names in different places',
    files: ['Image/Extras/#1.cbz', 'DC/Saga/1.cbz', 'Image/Saga/1.cbz'],
    auto: { Image: 1, 'DC/Saga': 1, 'Image/Saga': 1 },
    own: volumes({ 'Image/Extras': 1, 'DC/Saga': 1, 'Image/Saga': 1 }),
    side: 1,
  },
  {
    name: 'language folders',
    files: ['English/One Piece/One Piece v{01-02}.cbz', 'Français/One Piece/One Piece T01.cbz'],
    auto: { 'English/One Piece': 2, 'Français/One Piece': 1 },
    own: volumes({ 'English/One Piece': 2, 'Français/One Piece': 1 }),
  },
  {
    name: 'five levels deep',
    files: ['a/b/c/d/Saga/Saga {01-02}.cbz'],
    auto: { 'a/b/c/d/Saga': 2 },
    own: { strategy: 'publisher_hierarchy', config: { skipDepth: 4 }, series: { 'a/b/c/d/Saga': 2 } },
  },
  {
    name: 'NFC and NFD are two folders',
    files: ['Caf\u00e9/a {01-02}.cbz', 'Cafe\u0301/a {03-04}.cbz'],
    auto: { 'Caf\u00e9': 2, 'Cafe\u0301': 2 },
    own: volumes({ 'Caf\u00e9': 2, 'Cafe\u0301': 2 }),
  },
  {
    name: 'NFC and NFD in one bundle are one name',
    files: ['In/Caf\u00e9 {01-02}.cbz', 'In/Cafe\u0301 {03-04}.cbz', 'In/Saga {01-02}.cbz'],
    auto: { 'In#Café': 4, 'In#Saga': 2 },
    own: { strategy: 'flat', series: { 'In#Café': 4, 'In#Saga': 2 } },
  },
  {
    name: 'case twins are two folders',
    files: ['Saga/1.cbz', 'SAGA/2.cbz'],
    auto: { Saga: 1, SAGA: 1 },
    own: volumes({ Saga: 1, SAGA: 1 }),
  },
  {
    name: 'emoji and line breaks',
    files: ['📚/📖 {1-2}.cbz', 'new\nline/a.cbz'],
    auto: { '📚': 2, 'new\nline': 1 },
    own: volumes({ '📚': 2, 'new\nline': 1 }),
  },
  {
    name: 'only numbers in a folder',
    files: ['Nana/{1-5}.cbz'],
    auto: { Nana: 5 },
    own: { strategy: 'flat', series: { Nana: 5 } },
  },
  {
    name: 'a year as a series',
    files: ['Comics/2000 AD/2000AD prog {0001-0002}.cbz', '1984/1984.epub'],
    auto: { 'Comics/2000 AD': 2, '1984': 1 },
    own: volumes({ 'Comics/2000 AD': 2, '1984': 1 }),
  },
  {
    name: 'brackets behind a marker',
    files: ['Manga/Vagabond/Vol 1 [Digital]/a.cbz', 'Manga/Vagabond/v02 (Group)/a.cbz'],
    auto: { 'Manga/Vagabond': 2 },
    own: volumes({ 'Manga/Vagabond/Vol 1 [Digital]': 1, 'Manga/Vagabond/v02 (Group)': 1 }),
    values: { 'Manga/Vagabond/v02 (Group)/a.cbz': { volume: 2 } },
  },
  // Years and other brackets in names of folders.
  {
    name: 'volume folders with years, as download managers name them',
    files: [
      'Batman/Volume 01 (1940)/Batman (1940) Volume 01 Issue {001-002}.cbz',
      'Batman/Volume 02 (2011)/Batman (2011) Volume 02 Issue {001-003}.cbz',
    ],
    auto: { Batman: 5 },
    own: { strategy: 'series_volume_chapter', series: { Batman: 5 } },
    values: {
      'Batman/Volume 01 (1940)/Batman (1940) Volume 01 Issue 001.cbz': { volume: 1 },
      'Batman/Volume 02 (2011)/Batman (2011) Volume 02 Issue 003.cbz': { volume: 2 },
    },
    publishers: { Batman: undefined },
  },
  {
    name: 'volume folders with years and the name of the series',
    files: [
      'Akira/Akira v01 (2009)/Akira.cbz',
      'Akira/Akira v02 (2010) [Digital]/Akira.cbz',
      'Image/Saga (2012)/Saga v{01-02} (2014)/Saga.cbz',
    ],
    auto: { Akira: 2, 'Image/Saga (2012)': 2 },
    own: { strategy: 'series_volume_chapter', series: { Akira: 2, 'Image/Saga (2012)': 2 } },
    values: { 'Akira/Akira v02 (2010) [Digital]/Akira.cbz': { volume: 2 }, 'Image/Saga (2012)/Saga v02 (2014)/Saga.cbz': { volume: 2 } },
  },
  {
    name: 'annuals and an omnibus with years',
    files: [
      'Marvel/Hulk/Hulk {001-002}.cbz',
      'Marvel/Hulk/Annuals (2016)/Hulk Annual 01.cbz',
      'Marvel/Hulk/Omnibus (2019)/Hulk Omnibus.cbz',
    ],
    auto: { 'Marvel/Hulk': 4 },
    own: volumes({ 'Marvel/Hulk': 2, 'Marvel/Hulk/Annuals (2016)': 1, 'Marvel/Hulk/Omnibus (2019)': 1 }),
    side: 1,
  },
  {
    name: 'one-shots of a year',
    files: ['One Shots (2016)/Watchmen.cbz', 'One Shots (2016)/Maus.cbz'],
    auto: { 'One Shots (2016)/Watchmen.cbz': 1, 'One Shots (2016)/Maus.cbz': 1 },
    own: volumes({ 'One Shots (2016)': 2 }),
  },
  {
    name: 'annuals of several years stay apart',
    files: ['DC/Batman/Batman Annual (2012)/Batman Annual 01.cbz', 'DC/Batman/Batman Annual (2016)/Batman Annual 01.cbz'],
    auto: { 'DC/Batman/Batman Annual (2012)': 1, 'DC/Batman/Batman Annual (2016)': 1 },
    own: volumes({ 'DC/Batman/Batman Annual (2012)': 1, 'DC/Batman/Batman Annual (2016)': 1 }),
  },
  {
    name: 'a title that is a year, with a year',
    files: ['George Orwell/1984 (1949)/1984.epub'],
    auto: { 'George Orwell/1984 (1949)': 1 },
    own: volumes({ 'George Orwell/1984 (1949)': 1 }),
  },
  {
    name: 'names that differ from the folder above only in brackets',
    files: [
      'Comics/Batman/Batman (Rebirth)/Batman {001-002}.cbz',
      'Comics/Batman/Batman (New 52)/Batman {001-003}.cbz',
      'Manga/Naruto/Naruto (FR)/Naruto T{01-02}.cbz',
      'Manga/Naruto/Naruto [EN]/Naruto v01.cbz',
    ],
    auto: {
      'Comics/Batman/Batman (Rebirth)': 2,
      'Comics/Batman/Batman (New 52)': 3,
      'Manga/Naruto/Naruto (FR)': 2,
      'Manga/Naruto/Naruto [EN]': 1,
    },
    own: volumes({
      'Comics/Batman/Batman (Rebirth)': 2,
      'Comics/Batman/Batman (New 52)': 3,
      'Manga/Naruto/Naruto (FR)': 2,
      'Manga/Naruto/Naruto [EN]': 1,
    }),
  },
  {
    name: 'runs that go on, with spaces around the dash',
    files: [
      'DC/Batman (2016-Present)/Batman {001-002}.cbz',
      'DC/Batman (2011 - 2016)/Batman {001-003}.cbz',
      'Marvel/Hulk/Hulk (2014 - ongoing)/Hulk 001.cbz',
      'Marvel/Hulk/Hulk (2008 - )/Hulk 001.cbz',
    ],
    auto: {
      'DC/Batman (2016-Present)': 2,
      'DC/Batman (2011 - 2016)': 3,
      'Marvel/Hulk/Hulk (2014 - ongoing)': 1,
      'Marvel/Hulk/Hulk (2008 - )': 1,
    },
    own: volumes({
      'DC/Batman (2016-Present)': 2,
      'DC/Batman (2011 - 2016)': 3,
      'Marvel/Hulk/Hulk (2014 - ongoing)': 1,
      'Marvel/Hulk/Hulk (2008 - )': 1,
    }),
    publishers: { 'DC/Batman (2016-Present)': 'DC', 'DC/Batman (2011 - 2016)': 'DC', 'Marvel/Hulk/Hulk (2008 - )': undefined },
  },
  {
    name: 'the folder above the runs of one series is no publisher',
    files: ['Comics/Spawn/Spawn (1992)/Spawn {001-002}.cbz', 'Comics/Spawn/The Spawn (2020)/Spawn 001.cbz'],
    auto: { 'Comics/Spawn/Spawn (1992)': 2, 'Comics/Spawn/The Spawn (2020)': 1 },
    own: volumes({ 'Comics/Spawn/Spawn (1992)': 2, 'Comics/Spawn/The Spawn (2020)': 1 }),
    publishers: { 'Comics/Spawn/Spawn (1992)': undefined, 'Comics/Spawn/The Spawn (2020)': undefined },
  },
  {
    name: 'the folder above the books of a person is no publisher',
    files: ['Terry Pratchett/Mort (1987)/Mort.epub', 'Terry Pratchett/Sourcery (1988)/Sourcery.pdf'],
    auto: { 'Terry Pratchett/Mort (1987)': 1, 'Terry Pratchett/Sourcery (1988)': 1 },
    own: volumes({ 'Terry Pratchett/Mort (1987)': 1, 'Terry Pratchett/Sourcery (1988)': 1 }),
    publishers: { 'Terry Pratchett/Mort (1987)': undefined, 'Terry Pratchett/Sourcery (1988)': undefined },
  },
  // Folders of years, dates and editions that hold several series.
  {
    name: 'magazines by years',
    files: ['Magazines/2023/Wired 2023-{01-02}.pdf', 'Magazines/2023/Time 2023-{01-02}.pdf', 'Magazines/2024/Wired 2024-01.pdf'],
    auto: { 'Magazines#Wired': 3, 'Magazines#Time': 2 },
    own: { strategy: 'series_volume_chapter', series: { Magazines: 5 } },
  },
  {
    name: 'one issue of each magazine in a year',
    files: ['Magazines/2023/Wired 2023-01.pdf', 'Magazines/2023/Time 2023-01.pdf'],
    auto: { 'Magazines#Wired': 1, 'Magazines#Time': 1 },
    own: { strategy: 'series_volume_chapter', series: { Magazines: 2 } },
  },
  {
    name: 'comics by weeks',
    files: [
      'Weekly/2024.01.03/Batman 141 (2024).cbr',
      'Weekly/2024.01.03/Saga 066 (2024).cbr',
      'Weekly/2024.01.03/Spawn 350 (2024).cbr',
      'Weekly/2024.01.03/Hulk 010 (2024).cbr',
      'Weekly/2024.01.10/Batman 142 (2024).cbr',
    ],
    auto: { 'Weekly#Batman': 2, 'Weekly#Saga': 1, 'Weekly#Spawn': 1, 'Weekly#Hulk': 1 },
    own: volumes({ 'Weekly/2024.01.03': 4, 'Weekly/2024.01.10': 1 }),
  },
  {
    name: 'comics by years and editions, and one beside these folders',
    files: [
      'Comics/2019/Batman {001-002}.cbz',
      'Comics/2019/Saga {001-002}.cbz',
      'Comics/Omnibus/Batman Omnibus v01.cbz',
      'Comics/Omnibus/Saga Omnibus v01.cbz',
      'Comics/Loose.cbz',
    ],
    auto: { 'Comics#Batman': 2, 'Comics#Saga': 2, 'Comics#Batman Omnibus': 1, 'Comics#Saga Omnibus': 1, Comics: 1 },
    own: volumes({ 'Comics/2019': 4, 'Comics/Omnibus': 2, Comics: 1 }),
  },
  {
    name: 'a series by years, with specials of its name',
    files: ['Comics/One Piece/2019/One Piece {900-902}.cbz', 'Comics/One Piece/2019/One Piece Special {01-02}.cbz'],
    auto: { 'Comics/One Piece': 5 },
    own: volumes({ 'Comics/One Piece/2019': 5 }),
  },
  {
    name: 'a volume folder is a part of one series, whatever its chapters are called',
    files: ['Manga/Berserk/Vol 1/Brand {1-2}.cbz', 'Manga/Berserk/Vol 1/Guts {1-2}.cbz'],
    auto: { 'Manga/Berserk': 4 },
    own: { strategy: 'series_volume_chapter', series: { 'Manga/Berserk': 4 } },
  },
  // Names in a folder that are those of one series.
  {
    name: 'chapters of two groups',
    files: ['One Piece/GroupA_Vol.1 Ch.{1-3}.cbz', 'One Piece/GroupB_Ch.{30-32} - A Title.cbz'],
    auto: { 'One Piece': 6 },
    own: volumes({ 'One Piece': 6 }),
  },
  {
    name: 'chapters of several series with underscores',
    files: [
      'In/Naruto_Ch.{1-3}.cbz',
      'In/Bleach_Ch.{1-3}.cbz',
      'Downloads/Haikyu_Ch_{401-402}.cbz',
      'Downloads/Dandadan_Chapter_{44-45}.cbz',
    ],
    auto: { 'In#Naruto': 3, 'In#Bleach': 3, 'Downloads#Haikyu': 2, 'Downloads#Dandadan': 2 },
    own: { strategy: 'flat', series: { 'In#Naruto': 3, 'In#Bleach': 3, 'Downloads#Haikyu': 2, 'Downloads#Dandadan': 2 } },
  },
  {
    name: 'a series with two titles',
    files: ['Kimetsu no Yaiba/Demon Slayer v{01-03}.cbz', 'Kimetsu no Yaiba/Demon Slayer - Kimetsu no Yaiba {180-182}.cbz'],
    auto: { 'Kimetsu no Yaiba': 6 },
    own: volumes({ 'Kimetsu no Yaiba': 6 }),
  },
  {
    name: 'a folder with an article that the files leave out',
    files: ['The Amazing Spider-Man/Amazing Spider-Man {001-003}.cbz', 'The Amazing Spider-Man/Amazing Spider-Man Annual {01-02}.cbz'],
    auto: { 'The Amazing Spider-Man': 5 },
    own: volumes({ 'The Amazing Spider-Man': 5 }),
  },
  {
    name: 'a word that the folder shares with one of several series',
    files: ['Comics/Action Comics {001-002}.cbz', 'Comics/Saga {001-002}.cbz'],
    auto: { 'Comics#Action Comics': 2, 'Comics#Saga': 2 },
    own: { strategy: 'flat', series: { 'Comics#Action Comics': 2, 'Comics#Saga': 2 } },
  },
  // Strategies with settings.
  {
    name: 'patterns for file names',
    files: ['[Batman] one.cbz', '[Batman] two.cbz', '[Saga] three.cbz'],
    auto: { '[Batman] one.cbz': 1, '[Batman] two.cbz': 1, '[Saga] three.cbz': 1 },
    own: {
      strategy: 'flat',
      config: { filenamePatterns: ['^\\[(?P<series>[^\\]]+)\\] '] },
      series: { '#Batman': 2, '#Saga': 1 },
    },
  },
  {
    name: 'only metadata counts',
    files: ['Batman {01-02}.cbz', 'Saga 01.cbz'],
    named: { Batman: 'Batman' },
    auto: { '#Batman': 2, 'Saga 01.cbz': 1 },
    own: { strategy: 'flat', config: { requireMetadata: true }, series: { '#Batman': 2, '#Unsorted': 1 } },
  },
  {
    name: 'a pattern for paths',
    files: ['DC/2016/Batman/Batman {001-002}.cbz', 'Image/2012/Saga/Saga 001.cbz', 'Loose.cbz'],
    auto: { 'DC/2016/Batman': 2, 'Image/2012/Saga': 1, 'Loose.cbz': 1 },
    own: {
      strategy: 'custom',
      config: {
        pattern: '^(?P<publisher>[^/]+)/\\d{4}/(?P<series>[^/]+)/.* (?P<number>\\d+)\\.cbz$',
        seriesNameTemplate: '{publisher} - {series}',
      },
      series: { '#DC - Batman': 2, '#Image - Saga': 1, '#Unsorted': 1 },
      isShown: true,
    },
  },
  {
    name: 'a pattern keeps equal names of two publishers apart',
    files: ['DC/Extras/1.cbz', 'Image/Extras/1.cbz'],
    auto: { DC: 1, Image: 1 },
    own: {
      strategy: 'custom',
      config: { pattern: '^(?P<publisher>[^/]+)/(?P<series>[^/]+)/' },
      series: { '#Extras': 2 },
    },
    side: 2,
  },
  {
    name: 'words of a library',
    files: ['Manga/Berserk/Bundel 1/a.cbz', 'Manga/Berserk/Bundel 2/a.cbz'],
    auto: { 'Manga/Berserk/Bundel 1': 1, 'Manga/Berserk/Bundel 2': 1 },
    own: { strategy: 'auto', config: { words: { volume: ['bundel'] } }, series: { 'Manga/Berserk': 2 } },
  },
]

/** The paths of a tree. */
export function filesOf({ files }: Pick<Tree, 'files'>): string[] {
  return files.flatMap((pattern) => {
    const range = /\{(\d+)-(\d+)\}/.exec(pattern)
    if (!range) return [pattern]
    const [text, first = '', last = ''] = range
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => {
      const number = String(Number(first) + index).padStart(first.length, '0')
      return pattern.replace(text, number).replaceAll('{}', number)
    })
  })
}
