/** How Kafka prints the UUID whose bits are all zero: the "no id" value of every uuid field. */
export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA'
