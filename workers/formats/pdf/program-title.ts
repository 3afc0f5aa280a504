import { TEXT_LENGTH_MAX } from '#core/fields/limits.ts'
import { normalizeText } from '#core/foundation/text.ts'

/** Extensions of the files that programs turn into PDFs; those of other words, as in "Node.js" and "Archive.org", are not among them. */
const FILE = new RegExp(
  `\\.(?:${[
    'docx?|docm|dot[xm]?|odt|ott|fodt|sxw|rtf|txt|wpd|wps|wri|pages|hwpx?|jtd|gdoc|lyx|tex|dvi|scriv|fdx',
    'xls[xmb]?|xlt[xm]?|ods|csv|numbers|ppt[xm]?|pps[xm]?|pot[xm]?|odp|key|vsdx?|drawio|dwg',
    'indd|indt|indb|idml|inx|qxd|qxp|pmd|p65|pub|fm|sla|afpub|cdr|ai|svgz?|odg|afdesign|afphoto|psd|psb|xcf|kra|procreate',
    'jpe?g|jfif|jp2|jxl|png|tiff?|bmp|gif|webp|heic|heif|avif|tga|wmf|emf',
    'e?ps|pdf|xps|oxps|djvu?|epub|mobi|prc|azw3?|kfx|fb2|cb[zr7t]|x?html?|mhtml?|aspx|md',
  ].join('|')})$`,
  'i',
)

/** What programs write behind the name of a file: its state in brackets, and their own name. */
const TAIL =
  / (?:\[[^[\]]*\]|\((?:\d{1,4}|copy|repaired|recovered|autosaved|read-only|protected view)\)|[-–—] (?:google (?:docs|sheets|slides|drawings|drive)|(?:microsoft )?(?:word|excel|powerpoint|publisher)|(?:libre|open)office(?: (?:writer|impress|calc|draw))?|compatibility mode|read-only|copy|edited))$/i

/** Before any name, with a hyphen; the dash in "Microsoft Excel – Das Handbuch" is of its author. */
const PROGRAM = /^microsoft (?:office )?(?:word|powerpoint|excel|publisher|visio|onenote|project) ?- /i

/** Without a title, in the languages of programs. */
const UNTITLED = [
  'untitled|unnamed|no title|unbenannt(?:e[rs]?)?|ohne titel|sans titre|sin t[íi]tulo|sem t[íi]tulo|senza titolo|sense títol',
  'naamloos|naamloze|zonder titel|namnlöst?|utan titel|uden titel|uten tittel|bez tytułu|bez názvu|bez naslova|brez naslova|cím nélkül(?:i)?',
  'f[ăa]r[ăa] titlu|başlıksız|без имени|без названия|без назви|без заглавие|без наслова|χωρίς τίτλο|بدون عنوان|بلا عنوان|ללא כותרת',
  'không có tiêu đề|tanpa judul|無題|無標題|无标题|未命名|名称未設定|タイトルなし|제목 없[음는]|무제',
].join('|')
/** Without a name: with a number or beside what it is, because books may have such a title. */
const NAMELESS = [
  'ohne namen|sans nom|sin nombre|sem nome|senza nome|sense nom|uden navn|uten navn|unavngivet|nimetön|nimeämätön|bez nazwy|bez naziva',
  'névtelen|f[ăa]r[ăa] nume|adsız|безымянный|без имен[иі]|безіменний|без име|ανώνυμο|χωρίς όνομα|ללא שם|không tên|tanpa nama|ไม่มีชื่อ|이름 없[음는]',
].join('|')

/** What a program calls its documents. */
const DOCUMENT = [
  'documento?|dokument(?:um|en)?|document fără titlu|textdokument|asiakirja|belge|doküman|документ|έγγραφο|مستند|מסמך|tài liệu|เอกสาร',
  '文档|文件|文書|ドキュメント|문서|presentation|präsentation|présentation|presentación|apresentação|presentazione|presentatie|presentasjon',
  'præsentation|presentasi|presentació|prezentacja|prezentace|prezentácia|prezentare|prezentacija|bemutató|esitys|sunu|sunusu',
  'презентация|презентація|презентација|παρουσίαση|عرض تقديمي|מצגת|bản trình bày|งานนำเสนอ|演示文稿|簡報|简报|プレゼンテーション|프레젠테이션',
].join('|')

/** What is no title only without a name, as in "Untitled design" of Canva and "Untitled Artwork" of Procreate. */
const THING = [
  'design|artwork|drawing|spreadsheet|form|page|project|image|picture|canvas|diagram|note|notebook|file|layout|publication|book|poster',
  'kunstwerk|werk|zeichnung|tabelle|projekt|bild|seite|datei|dessin|feuille de calcul|projet|œuvre|oeuvre|illustration|diseño|dibujo',
  'hoja de cálculo|proyecto|imagen|página|ilustración|obra|desenho|planilha|projeto|imagem|arte|disegno|progetto|foglio di (?:lavoro|calcolo)',
  'immagine|pagina|opera|ontwerp|tekening|rysunek|arkusz(?: kalkulacyjny)?|kresba|tabulka|tasarım|desain|thiết kế|дизайн|рисунок|таблица|проект',
  '设计|設計|作品|表格|电子表格|試算表|绘图|繪圖|项目|專案|デザイン|スプレッドシート|アートワーク|図形描画|디자인|스프레드시트|작품',
].join('|')

const NEW =
  'new|neues|nouveau|nouvelle|nuevo|nueva|novo|nova|nuovo|nuova|nieuw|nytt|nyt|nowy|nowa|nový|nová|новый|новая|новий|uusi|új|yeni|新建|新しい|新規|새'
const OFFICE = '(?:microsoft |ms )?(?:office )?(?:word|powerpoint|excel|text)'
const OF = '(?:de|do|da|di|du|von|van|programu|aplikace|aplikácie|του|в|في|של) '
const KIND = `(?:${OFFICE}[ -]?)?(?:${DOCUMENT})(?: (?:${OF})?${OFFICE})?`

/** Names of new documents, scans and prints. */
const NEW_DOCUMENT = new RegExp(
  `^[([]?(?:${[
    `(?:(?:${NEW}) ?)?(?:${KIND})|(?:${KIND}) (?:${NEW})`,
    `(?:${UNTITLED})|(?:${NAMELESS})(?=[ _-]?\\d)`,
    `(?:${UNTITLED}|${NAMELESS})[ _-]?の?(?:${KIND}|${THING})|(?:${KIND}|${THING})[ _-]?(?:${UNTITLED}|${NAMELESS})`,
    '(?:slide|diapositiv[ae]|folie|slajd|snímek|слайд|スライド|幻灯片|投影片|슬라이드)(?=[ _-]?\\d)|slide|layout(?= \\d)|scan(?=[ _-]?\\d{3})',
    '(?:sheet|tabelle|mappe|classeur)(?=\\d)|(?:img|dsc[fn]?|skm|scn|ccf)[ _-]?c?\\d{3,}(?:[ _-]\\d+)*|blank page|about:blank|unknown|anonymous',
    'full page (?:photo|fax)(?: print)?|ganzseitiges foto|photo pleine page|foto a página completa|foto a pagina intera|foto de página inteira',
    'contact sheet|remote downlevel document|(?:local|remote desktop redirected) printer doc|scanned (?:documents?|images?)',
    'scanned (?:from|by|with|using|on) (?:.* )?(?:xerox|camscanner|scanner|printer|copier|mfp|multi-?function (?:device|printer))',
    '(?:ein)?gescanntes dokument|document (?:numérisé|scanné)|documento escaneado|documento digitalizado|documento scansionato',
    '(?:camscanner|adobe scan|genius scan|(?:office|microsoft) lens)(?:[ _-].*(?=\\d))?',
  ].join('|')})[ _-]?\\d{0,4}(?: copy)?[)\\]]?$`,
  'i',
)

/** Whether a title of a PDF is none: the name of a file, of a new document or of a scan, which a program left there. */
export function isLeftByProgram(title: string): boolean {
  let name = normalizeText(title, TEXT_LENGTH_MAX).trim()
  if (PROGRAM.test(name)) return true
  for (let longer = ''; longer !== name; ) {
    if (FILE.test(name) || NEW_DOCUMENT.test(name)) return true
    longer = name
    name = name.replace(TAIL, '').trim()
  }
  return false
}
