import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { canonicalOf, Proxies } from './address.ts'

const addressOf = (proxies: Proxies, peer: string, forwarded: string | null) =>
  proxies.clientOf(peer, forwarded).address
const networkOf = (address: string) => new Proxies([]).clientOf(address, null).network

test('without trusted proxies the peer is the client, whatever it says', () => {
  const proxies = new Proxies([])
  expect(addressOf(proxies, '203.0.113.5', '198.51.100.1')).toBe('203.0.113.5')
  expect(addressOf(proxies, '::ffff:203.0.113.5', null)).toBe('203.0.113.5')
})

test('behind trusted proxies the last address that is none of them is the client', () => {
  const proxies = new Proxies(['10.0.0.0/8', '::1'])
  expect(addressOf(proxies, '10.1.2.3', '198.51.100.1')).toBe('198.51.100.1')
  expect(addressOf(proxies, '10.1.2.3', '1.2.3.4, 198.51.100.1, 10.9.9.9')).toBe('198.51.100.1')
  expect(addressOf(proxies, '10.1.2.3', 'nonsense')).toBe('10.1.2.3')
  expect(addressOf(proxies, '203.0.113.5', '198.51.100.1')).toBe('203.0.113.5')
})

test('a proxy is trusted in whichever spelling it is named, and comes', () => {
  for (const named of ['10.0.0.9', '::ffff:10.0.0.9', '10.0.0.0/24', '::ffff:10.0.0.0/120', '::ffff:a00:9'])
    for (const peer of ['10.0.0.9', '::ffff:10.0.0.9', '::FFFF:0a00:0009', '0:0:0:0:0:ffff:10.0.0.9'])
      expect([named, peer, addressOf(new Proxies([named]), peer, '198.51.100.1')]).toEqual([
        named,
        peer,
        '198.51.100.1',
      ])
})

test('a port behind a forwarded address is none of it', () => {
  const proxies = new Proxies(['10.0.0.0/8'])
  expect(addressOf(proxies, '10.1.2.3', '198.51.100.1:4711')).toBe('198.51.100.1')
  expect(addressOf(proxies, '10.1.2.3', '[2001:DB8::1]:4711')).toBe('2001:db8::1')
  expect(addressOf(proxies, '10.1.2.3', '[2001:db8::1]')).toBe('2001:db8::1')
})

test('an IPv6 household is one client', () => {
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe(networkOf('2001:db8:1:2::9'))
  expect(networkOf('2001:db8:1:2::9')).not.toBe(networkOf('2001:db8:1:3::9'))
  expect(networkOf('::1')).toBe('0:0:0:0::/64')
})

test('who is on this machine is told from everybody else', () => {
  const local = (address: string) => new Proxies([]).clientOf(address, null).local
  for (const address of [
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '::ffff:127.0.0.1',
    '0:0:0:0:0:0:0:1',
    '::ffff:7f00:1',
  ])
    expect([address, local(address)]).toEqual([address, true])
  for (const address of ['128.0.0.1', '10.0.0.1', '::2', '::', '::127.0.0.1', '127.example', ''])
    expect([address, local(address)]).toEqual([address, false])
})

const group = fc.oneof(fc.constant(0), fc.constant(0xffff), fc.integer({ min: 0, max: 0xffff }))
const groups = fc.array(group, { minLength: 8, maxLength: 8 })
const four = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 })

/** Writes an IPv6 address in one of many ways. */
function spell(
  all: readonly number[],
  how: { upper: boolean; pad: boolean; dotted: boolean; from: number },
): string {
  const text = all.map((one) => one.toString(16).padStart(how.pad ? 4 : 1, '0'))
  const [high = 0, low = 0] = all.slice(6)
  const parts = how.dotted
    ? [...text.slice(0, 6), [high >> 8, high & 255, low >> 8, low & 255].join('.')]
    : text
  // A run of zeros that begins at `from` is left out.
  const most = how.dotted ? 6 : 8
  let end = how.from
  while (end < most && all[end] === 0) end++
  const short =
    end > how.from ? `${parts.slice(0, how.from).join(':')}::${parts.slice(end).join(':')}` : parts.join(':')
  return how.upper ? short.toUpperCase() : short
}

const how = fc.record({
  upper: fc.boolean(),
  pad: fc.boolean(),
  dotted: fc.boolean(),
  from: fc.integer({ min: 0, max: 7 }),
})

test('the one spelling is that of RFC 5952', () => {
  for (const [address, one] of [
    ['2001:0DB8::0001', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['1:0:0:0:0:0:0:0', '1::'],
    ['fe80::1%eth0', 'fe80::1'],
    ['0:ffff::ffff:0:0.0.0.0', '0:ffff:0:0:ffff::'],
  ] as const)
    expect([address, canonicalOf(address)]).toEqual([address, one])
})

test('all spellings of an address are one address', () => {
  fc.assert(
    fc.property(groups, how, how, (all, one, other) => {
      const [a, b] = [spell(all, one), spell(all, other)]
      expect([a, b, canonicalOf(a)]).toEqual([a, b, canonicalOf(b)])
      expect(networkOf(a)).toBe(networkOf(b))
    }),
    { numRuns: 2000 },
  )
})

test('an address of IPv4 is the same in the form of IPv6', () => {
  fc.assert(
    fc.property(four, how, (bytes, one) => {
      const [a = 0, b = 0, c = 0, d = 0] = bytes
      const mapped = spell([0, 0, 0, 0, 0, 0xffff, (a << 8) | b, (c << 8) | d], one)
      expect([mapped, canonicalOf(mapped), networkOf(mapped)]).toEqual([
        mapped,
        bytes.join('.'),
        bytes.join('.'),
      ])
    }),
    { numRuns: 2000 },
  )
})

test('different addresses stay different', () => {
  fc.assert(
    fc.property(groups, groups, how, (all, others, one) => {
      fc.pre(all.join() !== others.join())
      expect(canonicalOf(spell(all, one))).not.toBe(canonicalOf(spell(others, one)))
    }),
    { numRuns: 1000 },
  )
})
