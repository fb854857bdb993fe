/** IPv4 clients of a dual-stack socket come as IPv6 addresses; here they get their IPv4 address. Others stay as they are. */
export function withoutIpv4Mapping(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}
