/**
 * DescribeLogDirs (API key 35): the log directories of a broker, and the sizes of the replicas in them.
 */
import { array, bool, int16, int32, int64, request, response, string, type Decoded, type Input } from '../schema.ts'

export const describeLogDirsRequest = request(35, {
  name: 'DescribeLogDirsRequest',
  versions: '1-5',
  flexible: '2+',
  fields: {
    topics: array(
      '0+',
      {
        topic: string('0+'),
        partitions: array('0+', 'int32'),
      },
      { nullable: true, about: 'Null for all topics.' },
    ),
  },
})
export type DescribeLogDirsRequest = Decoded<typeof describeLogDirsRequest>
export type DescribeLogDirsRequestInput = Input<typeof describeLogDirsRequest>

export const describeLogDirsResponse = response(35, {
  name: 'DescribeLogDirsResponse',
  versions: '1-5',
  flexible: '2+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('3+', { ignorable: true }),
    results: array('0+', {
      errorCode: int16('0+'),
      logDir: string('0+'),
      topics: array('0+', {
        name: string('0+'),
        partitions: array('0+', {
          partitionIndex: int32('0+'),
          partitionSize: int64('0+'),
          offsetLag: int64('0+', {
            about: 'How far the replica is behind the high watermark, or a future one behind the current.',
          }),
          isFutureKey: bool('0+', { about: 'True for a replica that is being moved to this directory.' }),
        }),
      }),
      totalBytes: int64('4+', { default: -1, ignorable: true, about: 'Of the volume, or -1.' }),
      usableBytes: int64('4+', { default: -1, ignorable: true, about: 'Of the volume, or -1.' }),
      isCordoned: bool('5+', { ignorable: true }),
    }),
  },
})
export type DescribeLogDirsResponse = Decoded<typeof describeLogDirsResponse>
export type DescribeLogDirsResponseInput = Input<typeof describeLogDirsResponse>
