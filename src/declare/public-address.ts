import { BlockList, isIP } from 'node:net'

/** IPv4 networks that are not part of the public internet (IANA's special-purpose registry). */
const PRIVATE: readonly (readonly [address: string, bits: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/** IPv6 networks that may be public: global addresses, and those that embed an IPv4 address (mapped, NAT64). */
const PUBLIC_6 = [
  ['2000::', 3],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
] as const

/** Global IPv6 networks that are not public: Teredo and other protocols, documentation. */
const PRIVATE_6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
] as const

const refused = new BlockList()
const routed = new BlockList()
for (const [address, bits] of PUBLIC_6) routed.addSubnet(address, bits, 'ipv6')
for (const [address, bits] of PRIVATE_6) refused.addSubnet(address, bits, 'ipv6')
for (const [address, bits] of PRIVATE) {
  refused.addSubnet(address, bits, 'ipv4')
  // The same network embedded in IPv6: mapped, NAT64, 6to4.
  refused.addSubnet(`::ffff:${address}`, 96 + bits, 'ipv6')
  refused.addSubnet(`64:ff9b::${address}`, 96 + bits, 'ipv6')
  refused.addSubnet(sixToFour(address), 16 + bits, 'ipv6')
}

function sixToFour(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return `2002:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}::`
}

/** Whether an address is on the public internet: not this machine, not a private network. */
export function isPublicAddress(address: string): boolean {
  const [plain = ''] = address.split('%')
  const family = isIP(plain)
  if (family === 4) return !refused.check(plain, 'ipv4')
  return family === 6 && routed.check(plain, 'ipv6') && !refused.check(plain, 'ipv6')
}
