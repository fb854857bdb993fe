/**
 * ApiVersions (API key 18): which APIs and versions a broker speaks: the first request of every connection.
 *
 * A request in an unknown version is answered in version 0 with UNSUPPORTED_VERSION. The header of the response is
 * never flexible, so that any client can read it. From version 4 on, a feature's `minVersion` may be 0.
 */
import { array, bool, int16, int32, int64, request, response, string, type Decoded, type Input } from '../schema.ts'

export const apiVersionsRequest = request(18, {
  name: 'ApiVersionsRequest',
  versions: '0-4',
  flexible: '3+',
  fields: {
    clientSoftwareName: string('3+', { ignorable: true }),
    clientSoftwareVersion: string('3+', { ignorable: true }),
  },
})
export type ApiVersionsRequest = Decoded<typeof apiVersionsRequest>
export type ApiVersionsRequestInput = Input<typeof apiVersionsRequest>

export const apiVersionsResponse = response(18, {
  name: 'ApiVersionsResponse',
  versions: '0-4',
  flexible: '3+',
  fields: {
    errorCode: int16('0+'),
    apiKeys: array('0+', {
      apiKey: int16('0+'),
      minVersion: int16('0+'),
      maxVersion: int16('0+'),
    }),
    throttleTimeMs: int32('1+', { ignorable: true, about: 'How long the client is throttled by a quota.' }),
    supportedFeatures: array(
      '3+',
      {
        name: string('3+'),
        minVersion: int16('3+'),
        maxVersion: int16('3+'),
      },
      { tag: 0, ignorable: true },
    ),
    finalizedFeaturesEpoch: int64('3+', {
      default: -1,
      tag: 1,
      ignorable: true,
      about: 'Grows with each change of the features; -1 if unknown.',
    }),
    finalizedFeatures: array(
      '3+',
      {
        name: string('3+'),
        maxVersionLevel: int16('3+'),
        minVersionLevel: int16('3+'),
      },
      { tag: 2, ignorable: true, about: 'Only meaningful if finalizedFeaturesEpoch is not negative.' },
    ),
    zkMigrationReady: bool('3+', {
      tag: 3,
      ignorable: true,
      about: "True only while Kafka's own migration from ZooKeeper runs.",
    }),
  },
})
export type ApiVersionsResponse = Decoded<typeof apiVersionsResponse>
export type ApiVersionsResponseInput = Input<typeof apiVersionsResponse>
