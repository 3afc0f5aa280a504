import t from 'tap'
import { actionOfKey } from '../../../../../web/src/reader/shared/keys.ts'

const key = (key: string, more = {}) => ({ key, shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, ...more })

t.test('arrows follow the direction of reading', async (t) => {
  t.equal(actionOfKey(key('ArrowRight'), 'ltr'), 'next')
  t.equal(actionOfKey(key('ArrowRight'), 'rtl'), 'previous')
  t.equal(actionOfKey(key('ArrowLeft'), 'rtl'), 'next')
  t.equal(actionOfKey(key('ArrowDown'), 'ttb'), 'next')
  t.equal(actionOfKey(key('ArrowDown'), 'ltr'), null)
})

t.test('space goes on and with shift back, letters count in both cases, and keys of the browser stay its own', async (t) => {
  t.equal(actionOfKey(key(' '), 'ltr'), 'next')
  t.equal(actionOfKey(key(' ', { shiftKey: true }), 'rtl'), 'previous')
  t.equal(actionOfKey(key('O', { shiftKey: true }), 'ltr'), 'offset')
  t.equal(actionOfKey(key('f', { ctrlKey: true }), 'ltr'), null)
  t.equal(actionOfKey(key('constructor'), 'ltr'), null)
  t.equal(actionOfKey(key('q'), 'ltr'), null)
})

t.test('turned off, no letter, digit or sign is a key; arrows, space and Escape still are', async (t) => {
  for (const name of ['n', 'F', '1', '?', '/', '+', '-']) t.equal(actionOfKey(key(name), 'ltr', false), null, name)
  t.equal(actionOfKey(key('ArrowRight'), 'ltr', false), 'next')
  t.equal(actionOfKey(key(' '), 'ltr', false), 'next')
  t.equal(actionOfKey(key('Escape'), 'ltr', false), 'back')
})
