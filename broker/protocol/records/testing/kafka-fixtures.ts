/**
 * Bytes made once by Apache Kafka 4.3.1's own Java classes (MemoryRecords, ProducerStateManager), in base64: what Ottla
 * must read, and in the fields that are not compressed also write, bit for bit.
 *
 * Each batch holds the same five records at base offset 100, from the transactional producer 4711 with epoch 3 and base
 * sequence 17, leader epoch 9; `appendTime` is such a batch at offset 0 without a producer and with LogAppendTime.
 */
export const kafkaBatches = {
  none:
    'AAAAAAAAAGQAAAIcAAAACQIjwhgbABAAAAAEAAABi8/laAAAAAGLz+VpyAAAAAAAABJnAAMAAAARAAAABToAAAAKa2V5LTAOdmFs' +
    'dWUtMAYEaDECeARoMgEAADAA9gECASJ2YWx1ZSB3aXRob3V0IGtleQAiAJ+cAQQSdG9tYnN0b25lAQCyBgCQBwYCa6AGYWJhYmFi' +
    'YWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJh' +
    'YmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFi' +
    'YWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJh' +
    'YmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFi' +
    'YWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJhYmFiYWJh' +
    'YmFiYWJhYmFiYWJhYmFiYWJhYgAMAAoIAAAA',
  gzip:
    'AAAAAAAAAGQAAACiAAAACQJUJtXpABEAAAAEAAABi8/laAAAAAGLz+VpyAAAAAAAABJnAAMAAAARAAAABR+LCAAAAAAAAP+zYmBg' +
    '4MpOrdQ14CtLzClN1TVgY8kwZKpgyTBiZGAwYPjGyMSoBJZRKM8sycgvLVEAqmZQYpg/h5FFqCQ/N6m4JD8vlZFhExvDBHY2puwF' +
    'bIlJo3AwQQYeBi4OYDQDACfijpLrAQAA',
  snappy:
    'AAAAAAAAAGQAAAC5AAAACQJp0FGaABIAAAAEAAABi8/laAAAAAGLz+VpyAAAAAAAABJnAAMAAAARAAAABYJTTkFQUFkAAAAAAQAA' +
    'AAEAAAB06wOQOgAAAAprZXktMA52YWx1ZS0wBgRoMQJ4BGgyAQAAMAD2AQIBIgUaqCB3aXRob3V0IGtleQAiAJ+cAQQSdG9tYnN0' +
    'b25lAQCyBgCQBwYCa6AGYWL+AgD+AgD+AgD+AgD+AgD+AgA2AgAcAAwACggAAAA=',
  lz4:
    'AAAAAAAAAGQAAACjAAAACQJhD1H2ABMAAAAEAAABi8/laAAAAAGLz+VpyAAAAAAAABJnAAMAAAARAAAABQQiTRhgQIJjAAAA8RY6' +
    'AAAACmtleS0wDnZhbHVlLTAGBGgxAngEaDIBAAAwAPYBAgEiGgD/HCB3aXRob3V0IGtleQAiAJ+cAQQSdG9tYnN0b25lAQCyBgCQ' +
    'BwYCa6AGYWICAP98gAAMAAoIAAAAAAAAAA==',
  zstd:
    'AAAAAAAAAGQAAACgAAAACQIq1+RQABQAAAAEAAABi8/laAAAAAGLz+VpyAAAAAAAABJnAAMAAAARAAAABSi1L/0AWBwDAIQFOgAA' +
    'AAprZXktMA52YWx1ZS0wBgRoMQJ4BGgyAQAAMAD2AQIBIiB3aXRob3V0IGtleQAiAJ+cAQQSdG9tYnN0b25lAQCyBgCQBwYCa6AG' +
    'YWIADAAKCAAAAAIAW8yp0hYmGQEAAA==',
} as const

/** lz4, LogAppendTime. */
export const kafkaAppendTimeBatch =
  'AAAAAAAAAAAAAACj/////wJZOy3YAAsAAAAEAAABi8/laAAAAAGiL7Kf/P//////////////////AAAABQQiTRhgQIJjAAAA8RY6' +
  'AAAACmtleS0wDnZhbHVlLTAGBGgxAngEaDIBAAAwAPYBAgEiGgD/HCB3aXRob3V0IGtleQAiAJ+cAQQSdG9tYnN0b25lAQCyBgCQ' +
  'BwYCa6AGYWICAP98gAAMAAoIAAAAAAAAAA=='

/** A COMMIT marker at offset 42: producer 4711, epoch 3, coordinator epoch 12, leader epoch 7. */
export const kafkaCommitBatch =
  'AAAAAAAAACoAAABCAAAABwL18n6aADAAAAAAAAABi8/laAAAAAGLz+VoAAAAAAAAABJnAAP/////AAAAASAAAAAIAAAAAQwAAAAA' + 'AAwA'

/** An ABORT marker at offset 43, coordinator epoch 13. */
export const kafkaAbortBatch =
  'AAAAAAAAACsAAABCAAAABwJB868mADAAAAAAAAABi8/laAEAAAGLz+VoAQAAAAAAABJnAAP/////AAAAASAAAAAIAAAAAAwAAAAA' + 'AA0A'

/** A producer snapshot: 4711 (epoch 3, coordinator epoch 12, open transaction at 95, a batch of sequences 17 to 21 at offsets 100 to 104)
 * and 9 (epoch 0, no batch). */
export const kafkaSnapshot =
  'AAE0ZPiwAAAAAgAAAAAAABJnAAMAAAAVAAAAAAAAAGgAAAAEAAABi8/laAAAAAAMAAAAAAAAAF8AAAAAAAAACQAA////////////' +
  '////AAAAAAAAAYvP5WgB////////////////'
