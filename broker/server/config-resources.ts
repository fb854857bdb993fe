/** What configs belong to, as the config APIs number it. */
export const ConfigResourceType = {
  Topic: 2,
  Broker: 4,
  BrokerLogger: 8,
  ClientMetrics: 16,
  Group: 32,
} as const

/** The broker id of a broker resource's name, or undefined when it is none. */
export function parseBrokerId(resourceName: string): number | undefined {
  return /^\d{1,9}$/.test(resourceName) ? Number(resourceName) : undefined
}
