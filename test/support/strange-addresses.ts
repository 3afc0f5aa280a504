/** Words about a reader, as a name of a host can carry them. */
const TITLE = Buffer.from('A title that a reader has read').toString('hex')

/** How an address can lead to another host than it seems; `own` is the granted host, `to` one that is not. */
export const STRANGE_ADDRESSES: ((own: string, to: string) => string)[] = [
  (own) => `https://${own}/c.jpg`,
  (own) => `HTTPS://${own.toUpperCase()}:443/c.jpg`,
  (_own, to) => `https://${to}/c.jpg?d=ratings`,
  (_own, to) => `https://${TITLE}.${to}/c.jpg`,
  (own) => `https://${TITLE}.${own}/c.jpg`,
  (own, to) => `https://${own}.${to}/c.jpg`,
  (own) => `https://${own}:8443/c.jpg`,
  (own, to) => `https://${own}@${to}/c.jpg`,
  (own) => `https://reader:rating@${own}/c.jpg`,
  (_own, to) => `//${to}/c.jpg`,
  (own, to) => `https:\\\\${to}\\@${own}/c.jpg`,
  (own, to) => `https://${own}/to?${encodeURIComponent(`https://${to}/c.jpg`)}`,
  (own) => `https://${own}/to?${encodeURIComponent('http://127.0.0.1/c.jpg')}`,
  (own) => `http://${own}/c.jpg`,
  () => 'https://[2001:db8::1]/c.jpg',
  () => 'https://93.184.216.34/c.jpg',
  () => 'https://1572395042/c.jpg',
  (own) => `https://${own.replace('o', '\u043e')}/c.jpg`,
  (own) => `https://${own}./c.jpg`,
  (_own, to) => `https:///${to}/c.jpg`,
]

/** Of sixty plugins, every seventh first: the first ones have many of the addresses, in all of their places. */
export const PLUGIN_NUMBERS = Array.from({ length: 60 }, (_, index) => (index * 7) % 60)
