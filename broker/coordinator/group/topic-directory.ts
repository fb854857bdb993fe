/** The cluster's topics as group members see them, from the metadata cache. */
import type { MetadataCache } from '../../metadata/metadata-cache.ts'
import type { TopicDirectory } from './group-shard-context.ts'

export function topicDirectory(metadata: MetadataCache): TopicDirectory {
  return {
    topic(name) {
      const topic = metadata.topic(name)
      if (topic === undefined) return undefined
      return { topicId: topic.topicId, partitionCount: topic.partitions.size }
    },
    topicNameById: (topicId) => metadata.topicNameById(topicId),
    topicNames: () => metadata.topicNames(),
    wasDeleted: (topicId) => metadata.wasDeleted(topicId),
  }
}
