import assert from 'node:assert/strict'
import { SlicePacker } from './slice-packing.ts'

describe('slice packing', () => {
  it('packs by preferred leader, fills existing slices first, and never more than 64', () => {
    const packer = new SlicePacker(
      new Map([
        ['broker-1-0', 62],
        ['broker-2-0', 64],
      ]),
    )
    const names = Array.from({ length: 70 }, () => packer.allocate(1))
    const counts = (name: string): number => names.filter((each) => each === name).length
    assert.deepEqual([counts('broker-1-0'), counts('broker-1-1'), counts('broker-1-2')], [2, 64, 4])
    assert.equal(packer.allocate(2), 'broker-2-1')
  })

  it('fills the room that deletions left', () => {
    const packer = new SlicePacker(
      new Map([
        ['broker-1-0', 10],
        ['broker-1-1', 64],
      ]),
    )
    assert.equal(packer.allocate(1), 'broker-1-0')
    assert.equal(packer.isWithin('broker-1-1'), true)
    assert.equal(new SlicePacker(new Map([['s', 65]])).isWithin('s'), false)
  })
})
