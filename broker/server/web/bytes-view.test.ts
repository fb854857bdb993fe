import assert from 'node:assert/strict'
import { bytesView, cutText, MAX_BINARY_BYTES } from './bytes-view.ts'

describe('bytes for people', () => {
  const view = (bytes: Buffer | string, maxBytes = 100): ReturnType<typeof bytesView> =>
    bytesView(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, maxBytes)

  it('tell null from empty', () => {
    assert.equal(bytesView(null, 100), null)
    assert.deepEqual(view(''), { type: 'text', shown: '', sizeBytes: 0, isCut: false })
  })

  it('are text when they are UTF-8, whatever the language', () => {
    for (const text of ['plain', 'ä\tö\r\nü', '漢字', '👍🏽', '<script>']) {
      assert.deepEqual(view(text), { type: 'text', shown: text, sizeBytes: Buffer.byteLength(text), isCut: false })
    }
  })

  it('are hex when they are not, or hold control characters', () => {
    assert.deepEqual(view(Buffer.from([0xff, 0x00, 0x10])), {
      type: 'binary',
      shown: 'ff0010',
      sizeBytes: 3,
      isCut: false,
    })
    assert.equal(view(Buffer.from([0, 0, 0, 42]))?.type, 'binary')
    assert.equal(view(Buffer.from('esc \x1b[31m'))?.type, 'binary')
  })

  it('are cut between characters', () => {
    assert.deepEqual(view('aä漢👍', 3), { type: 'text', shown: 'aä', sizeBytes: 10, isCut: true })
    assert.deepEqual(view('aä漢👍', 5)?.shown, 'aä')
    assert.deepEqual(view('aä漢👍', 9)?.shown, 'aä漢')
    assert.deepEqual(view('aä漢👍', 10)?.isCut, false)
    assert.deepEqual(view('👍', 1), { type: 'text', shown: '', sizeBytes: 4, isCut: true })
  })

  it('show no more of binary data than helps', () => {
    const bytes = view(Buffer.alloc(1024 * 1024, 0xff), 1024 * 1024)
    assert.equal(bytes?.shown.length, 2 * MAX_BINARY_BYTES)
    assert.equal(bytes.isCut, true)
    assert.equal(bytes.sizeBytes, 1024 * 1024)
  })

  it('are copies', () => {
    const memory = Buffer.from('text')
    const shown = view(memory)
    memory.fill(0xee)
    assert.equal(shown?.shown, 'text')
  })

  it('cut texts between characters, too', () => {
    assert.equal(cutText('abc', 3), 'abc')
    assert.equal(cutText('abcd', 3), 'abc…')
    assert.equal(cutText('ab👍', 3), 'ab…')
  })
})
