import { expect, test } from 'bun:test'
import { Proxies } from './address.ts'

test('without trusted proxies the peer is the client, whatever it says', () => {
  const proxies = new Proxies([])
  expect(proxies.clientOf('203.0.113.5', '198.51.100.1')).toBe('203.0.113.5')
  expect(proxies.clientOf('::ffff:203.0.113.5', null)).toBe('203.0.113.5')
})

test('behind trusted proxies the last address that is none of them is the client', () => {
  const proxies = new Proxies(['10.0.0.0/8', '::1'])
  expect(proxies.clientOf('10.1.2.3', '198.51.100.1')).toBe('198.51.100.1')
  expect(proxies.clientOf('10.1.2.3', '1.2.3.4, 198.51.100.1, 10.9.9.9')).toBe('198.51.100.1')
  expect(proxies.clientOf('10.1.2.3', 'nonsense')).toBe('10.1.2.3')
  expect(proxies.clientOf('203.0.113.5', '198.51.100.1')).toBe('203.0.113.5')
})

test('an IPv6 household is one client', () => {
  const proxies = new Proxies([])
  expect(proxies.clientOf('2001:db8:1:2:3:4:5:6', null)).toBe(proxies.clientOf('2001:db8:1:2::9', null))
  expect(proxies.clientOf('2001:db8:1:2::9', null)).not.toBe(proxies.clientOf('2001:db8:1:3::9', null))
  expect(proxies.clientOf('::1', null)).toBe('0:0:0:0::/64')
})
