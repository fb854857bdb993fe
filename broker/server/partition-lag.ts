import type { MetadataCache } from '../metadata/metadata-cache.ts'
import type { ReplicaManager } from '../replication/replica-manager.ts'

/**
 * How many offsets lie between a committed one and the end of its partition, which for a reader is the high watermark;
 * at least 0. Undefined where another broker leads the partition, so that its end is not known here.
 */
export function partitionLag(
  { metadata, replicas }: { readonly metadata: MetadataCache; readonly replicas: ReplicaManager },
  topicName: string,
  partition: number,
  committedOffset: number,
): number | undefined | 'no-partition' {
  const replica = replicas.partition(topicName, partition)
  if (replica?.isLeader === true) return Math.max(0, replica.highWatermark - committedOffset)
  return metadata.partition(topicName, partition) === undefined ? 'no-partition' : undefined
}
