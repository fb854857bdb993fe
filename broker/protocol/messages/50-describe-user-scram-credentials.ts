/**
 * DescribeUserScramCredentials (API key 50): which SCRAM credentials users have, without what they are (KIP-554).
 */
import { array, int16, int32, int8, request, response, string, type Decoded, type Input } from '../schema.ts'

export const describeUserScramCredentialsRequest = request(50, {
  name: 'DescribeUserScramCredentialsRequest',
  versions: '0',
  flexible: '0+',
  fields: {
    users: array('0+', { name: string('0+') }, { nullable: true, about: 'Null or empty for all users.' }),
  },
})
export type DescribeUserScramCredentialsRequest = Decoded<typeof describeUserScramCredentialsRequest>
export type DescribeUserScramCredentialsRequestInput = Input<typeof describeUserScramCredentialsRequest>

export const describeUserScramCredentialsResponse = response(50, {
  name: 'DescribeUserScramCredentialsResponse',
  versions: '0',
  flexible: '0+',
  fields: {
    throttleTimeMs: int32('0+', { about: 'How long the client is throttled by a quota.' }),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: true }),
    results: array('0+', {
      user: string('0+'),
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: true }),
      credentialInfos: array('0+', {
        mechanism: int8('0+', { about: '1: SCRAM-SHA-256; 2: SCRAM-SHA-512.' }),
        iterations: int32('0+'),
      }),
    }),
  },
})
export type DescribeUserScramCredentialsResponse = Decoded<typeof describeUserScramCredentialsResponse>
export type DescribeUserScramCredentialsResponseInput = Input<typeof describeUserScramCredentialsResponse>
