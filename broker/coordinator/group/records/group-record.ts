/** The records of the group coordinator as values, and how they are written. */
import type { Decoded, Message } from '../../../protocol/schema.ts'
import * as schemas from './schemas.ts'

/** Number and schemas by type. The number is the version in front of the key; `valueVersion` is the one that is written. */
export const GROUP_RECORD_TYPES = {
  OffsetCommit: { id: 1, key: schemas.offsetCommitKey, value: schemas.offsetCommitValue, valueVersion: 4 },
  GroupMetadata: { id: 2, key: schemas.groupMetadataKey, value: schemas.groupMetadataValue, valueVersion: 3 },
  ConsumerGroupMetadata: {
    id: 3,
    key: schemas.consumerGroupMetadataKey,
    value: schemas.consumerGroupMetadataValue,
    valueVersion: 0,
  },
  ConsumerGroupMemberMetadata: {
    id: 5,
    key: schemas.consumerGroupMemberMetadataKey,
    value: schemas.consumerGroupMemberMetadataValue,
    valueVersion: 0,
  },
  ConsumerGroupTargetAssignmentMetadata: {
    id: 6,
    key: schemas.consumerGroupTargetAssignmentMetadataKey,
    value: schemas.consumerGroupTargetAssignmentMetadataValue,
    valueVersion: 0,
  },
  ConsumerGroupTargetAssignmentMember: {
    id: 7,
    key: schemas.consumerGroupTargetAssignmentMemberKey,
    value: schemas.consumerGroupTargetAssignmentMemberValue,
    valueVersion: 0,
  },
  ConsumerGroupCurrentMemberAssignment: {
    id: 8,
    key: schemas.consumerGroupCurrentMemberAssignmentKey,
    value: schemas.consumerGroupCurrentMemberAssignmentValue,
    valueVersion: 0,
  },
  ConsumerGroupRegularExpression: {
    id: 16,
    key: schemas.consumerGroupRegularExpressionKey,
    value: schemas.consumerGroupRegularExpressionValue,
    valueVersion: 0,
  },
} as const satisfies Record<string, { id: number; key: Message; value: Message; valueVersion: number }>

export type GroupRecordType = keyof typeof GROUP_RECORD_TYPES

/** One record. A null value removes what the key names. */
export type GroupRecord = {
  [T in GroupRecordType]: {
    readonly type: T
    readonly key: Decoded<(typeof GROUP_RECORD_TYPES)[T]['key']>
    readonly value: Decoded<(typeof GROUP_RECORD_TYPES)[T]['value']> | null
  }
}[GroupRecordType]

/** The record of one type. */
export type GroupRecordOf<T extends GroupRecordType> = Extract<GroupRecord, { readonly type: T }>
