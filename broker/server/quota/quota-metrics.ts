/**
 * Metrics of the clients that quotas apply to: what each may use, what it used in the last seconds, and how much it was
 * throttled. Bytes a second for byte rates, percent of the event loop for request time, partitions a second for mutations.
 */
import { familiesText, labelsOf, labelText, type LabelledRow, type MetricFamily } from '../metric-family.ts'
import type { ClientQuotas, QuotaUse } from './client-quotas.ts'

type Row = LabelledRow & Pick<QuotaUse, 'limit' | 'rate' | 'throttledCount' | 'throttledMs'>

const FAMILIES: readonly MetricFamily<Row>[] = [
  { name: 'ottla_quota_limit', type: 'gauge', help: 'The quota in force', value: ({ limit }) => limit },
  { name: 'ottla_quota_rate', type: 'gauge', help: 'What was used of it', value: ({ rate }) => rate },
  {
    name: 'ottla_quota_throttles_total',
    type: 'counter',
    help: 'How often its clients were throttled',
    value: ({ throttledCount }) => throttledCount,
  },
  {
    name: 'ottla_quota_throttle_seconds_total',
    type: 'counter',
    help: 'For how long its clients were throttled',
    value: ({ throttledMs }) => throttledMs / 1000,
  },
]

/** The text of all metrics of quotas, as of the call. */
export function quotaMetrics(quotas: ClientQuotas): Iterable<string> {
  const rows: Row[] = []
  for (const { quota, user, clientId, ...use } of quotas.uses()) {
    rows.push({ ...use, labels: labelText({ quota, user, client_id: clientId }) })
  }
  return rows.length === 0 ? [] : familiesText(FAMILIES, rows, labelsOf)
}
