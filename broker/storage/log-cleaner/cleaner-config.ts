/** The broker's configuration of its log cleaner, as it is at the moment. */
export interface CleanerConfig {
  /** `log.cleaner.enable` */
  readonly isEnabled: boolean
  /** `log.cleaner.dedupe.buffer.size`: the largest size of the offset map. */
  readonly dedupeBufferBytes: number
  /** `log.cleaner.io.buffer.load.factor`: how full the largest map may get. */
  readonly maxLoad: number
  /** `log.cleaner.io.buffer.size`: what is read at a time. */
  readonly ioBufferBytes: number
  /** `log.cleaner.io.max.bytes.per.second`: of reads and writes together. */
  readonly maxBytesPerSecond: number
  /** `log.cleaner.backoff.ms`: how long the cleaner rests when nothing is to be cleaned. */
  readonly backoffMs: number
}
