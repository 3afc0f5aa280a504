/**
 * The media types with which files of a book are served: those that chapters load. Any other could make a browser or an app run a file of a stranger
 * as what its package calls it, from the address of this server. Scripts are not among them: chapters may not run any.
 */
const BOOK_MEDIA_TYPES = new Set([
  // Documents
  'application/xhtml+xml',
  'text/html',
  'text/x-oeb1-document',
  'application/x-dtbook+xml',
  'text/plain',
  'application/oebps-package+xml',
  'application/x-dtbncx+xml',
  'application/smil+xml',
  'application/pls+xml',
  'application/xml',
  'text/xml',
  'application/mathml+xml',
  'application/ttml+xml',
  'text/vtt',
  // Styles
  'text/css',
  'text/x-oeb1-css',
  // Pictures
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'image/svg+xml',
  'image/avif',
  'image/jxl',
  'image/bmp',
  'image/tiff',
  'image/heic',
  'image/heif',
  // Fonts; EPUB 3.3 lists the older names too
  'font/ttf',
  'font/otf',
  'font/woff',
  'font/woff2',
  'font/sfnt',
  'font/collection',
  'application/font-sfnt',
  'application/font-woff',
  'application/vnd.ms-opentype',
  'application/x-font-ttf',
  'application/x-font-otf',
  'application/x-font-truetype',
  'application/x-font-opentype',
  'application/x-font-woff',
  // Sound and film
  'audio/mpeg',
  'audio/mp4',
  'audio/ogg',
  'audio/opus',
  'audio/webm',
  'audio/aac',
  'audio/flac',
  'audio/wav',
  'audio/x-wav',
  'video/mp4',
  'video/webm',
  'video/ogg',
  'video/h264',
  'video/quicktime',
])

const BY_EXTENSION: Record<string, string> = {
  xhtml: 'application/xhtml+xml',
  html: 'text/html',
  htm: 'text/html',
  css: 'text/css',
  svg: 'image/svg+xml',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ttf: 'font/ttf',
  otf: 'font/otf',
  woff: 'font/woff',
  woff2: 'font/woff2',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  opf: 'application/oebps-package+xml',
  ncx: 'application/x-dtbncx+xml',
  xml: 'application/xml',
}

/** By the package if it names one that books need, otherwise by the extension. @param listed in lower case */
export function mediaTypeOf(listed: string, path: string): string {
  if (BOOK_MEDIA_TYPES.has(listed)) return listed
  const extension = /\.([a-z0-9]{1,10})$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return (Object.hasOwn(BY_EXTENSION, extension) && BY_EXTENSION[extension]) || 'application/octet-stream'
}
