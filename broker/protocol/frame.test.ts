import assert from 'node:assert/strict'
import {
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  responseCorrelationId,
} from './frame.ts'
import { produceRequest } from './messages/00-produce.ts'
import { metadataRequest, metadataResponse } from './messages/03-metadata.ts'
import { apiVersionsRequest, apiVersionsResponse } from './messages/18-api-versions.ts'
import { ProtocolError } from './wire/errors.ts'

function bytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex')
}

describe('request headers', () => {
  it('have a plain form (version 1)', () => {
    const frame = bytes('0003 0001 00000007 0003 636c69 ffffffff')
    const header = decodeRequestHeader(frame)
    assert.deepEqual(header, { apiKey: 3, apiVersion: 1, correlationId: 7, clientId: 'cli', bodyOffset: 13 })
    assert.equal(decodeRequest(metadataRequest, frame, header).topics, null)
    assert.deepEqual(
      Buffer.concat(encodeRequest(metadataRequest, 1, 7, 'cli', { topics: null })),
      Buffer.concat([bytes('00000011'), frame]),
    )
  })

  it('have a flexible form (version 2), in which the client id is not compact', () => {
    const frame = bytes('0012 0003 00000007 ffff 00 0261 0262 00')
    const header = decodeRequestHeader(frame)
    assert.equal(header.clientId, null)
    const { clientSoftwareName, clientSoftwareVersion } = decodeRequest(apiVersionsRequest, frame, header)
    assert.deepEqual([clientSoftwareName, clientSoftwareVersion], ['a', 'b'])
    const body = { clientSoftwareName: 'a', clientSoftwareVersion: 'b' }
    assert.deepEqual(Buffer.concat(encodeRequest(apiVersionsRequest, 3, 7, null, body)).subarray(4), frame)
  })

  it('skip unknown tagged fields', () => {
    const frame = bytes('0012 0003 00000007 ffff 01 09 02 ffff 0261 0262 00')
    assert.equal(decodeRequest(apiVersionsRequest, frame, decodeRequestHeader(frame)).clientSoftwareName, 'a')
  })

  it('are decoded as far as they are known for unknown APIs and versions', () => {
    const expected = { apiKey: 18, apiVersion: 99, correlationId: 7, clientId: 'cli', bodyOffset: undefined }
    assert.deepEqual(decodeRequestHeader(bytes('0012 0063 00000007 0003 636c69 ff')), expected)
    assert.deepEqual(decodeRequestHeader(bytes('0012 0063 00000007')), { ...expected, clientId: null })
    assert.equal(decodeRequestHeader(bytes('7777 0000 00000007 7fff')).apiKey, 0x7777)
    assert.equal(decodeRequestHeader(bytes('0003 ffff 00000007 ffff')).bodyOffset, undefined)
    // Produce 0 is advertised, but has no description.
    assert.equal(decodeRequestHeader(bytes('0000 0000 00000007 ffff')).bodyOffset, undefined)
  })

  it('refuse frames that are too short for one', () => {
    for (const hex of [
      '',
      '00',
      '0003',
      '0003 0001',
      '0003 0001 000000',
      '0003 0001 00000000',
      '0003 0001 00000000 0001',
    ]) {
      assert.throws(() => decodeRequestHeader(bytes(hex)), ProtocolError, hex)
    }
  })

  it('have to fit the description that the body is decoded with', () => {
    const frame = bytes('0003 0001 00000007 ffff ffffffff')
    assert.throws(() => decodeRequest(produceRequest, frame, decodeRequestHeader(frame)), ProtocolError)
  })
})

describe('responses', () => {
  it('have a flexible header where the version is flexible', () => {
    const plain = Buffer.concat(encodeResponse(metadataResponse, 8, 7, {}))
    const flexible = Buffer.concat(encodeResponse(metadataResponse, 9, 7, {}))
    assert.equal(plain.subarray(0, 8).toString('hex'), '0000001a' + '00000007')
    assert.equal(flexible.subarray(0, 9).toString('hex'), '00000015' + '00000007' + '00')
    assert.equal(plain.readInt32BE(0), plain.length - 4)
    assert.equal(flexible.readInt32BE(0), flexible.length - 4)
    assert.equal(responseCorrelationId(flexible.subarray(4)), 7)
    assert.equal(decodeResponse(metadataResponse, 9, flexible.subarray(4)).clusterId, null)
  })

  it('of ApiVersions never have one', () => {
    const frame = Buffer.concat(encodeResponse(apiVersionsResponse, 3, 7, { errorCode: 35 }))
    assert.equal(frame.toString('hex'), '0000000c' + '00000007' + '0023' + '01' + '00000000' + '00')
    assert.equal(decodeResponse(apiVersionsResponse, 3, frame.subarray(4)).errorCode, 35)
  })
})
