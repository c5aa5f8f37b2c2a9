import { expect, test } from 'bun:test'
import { parseAddress } from './address.ts'

test('an address of one host is taken as it is', () => {
  for (const url of [
    'postgres://user:pw@host/name',
    'postgresql://host:5433/name?sslmode=require',
    'postgres://[::1]:5432/name',
    'postgres://u:p,w@host/name',
  ])
    expect(parseAddress(url)).toEqual({ hosts: [url], writable: false })
})

test('several hosts are an address each, and one of them must take writes', () => {
  expect(parseAddress('postgres://u:p,w@a:1,[::1]:2,c/name?sslmode=require')).toEqual({
    hosts: [
      'postgres://u:p,w@a:1/name?sslmode=require',
      'postgres://u:p,w@[::1]:2/name?sslmode=require',
      'postgres://u:p,w@c/name?sslmode=require',
    ],
    writable: true,
  })
  for (const wanted of ['read-write', 'primary'])
    expect(parseAddress(`postgres://a/name?target_session_attrs=${wanted}`).writable).toBe(true)
})

test('what makes no sense is refused, without the password', () => {
  for (const [url, fault] of [
    ['postgres://u:pw@a,/name', '--database names a host that is empty, in "postgres://u@a,/name".'],
    ['postgres://a,:5432/name', 'names a host that is empty'],
    ['postgres://a:x,b/name', 'must name a port from 1 to 65535 after a, not "x"'],
    ['postgres://a:,b/name', 'must name a port from 1 to 65535 after a, not ""'],
    ['postgres://a:0,b/name', 'must name a port from 1 to 65535 after a, not "0"'],
    ['postgres://a,b:65536/name', 'must name a port from 1 to 65535 after b, not "65536"'],
    ['postgres://a:1,a:1/name', 'names a:1 twice'],
    ['postgres://a/name?host=b,c', 'names several hosts in ?host='],
    ['postgres://a,b/name?target_session_attrs=standby', 'has target_session_attrs=standby: a server writes'],
    ['postgres://a,b/name?target_session_attrs=', 'has target_session_attrs=:'],
    ['postgres://a,b/name?load_balance_hosts=random', 'has load_balance_hosts: only one host takes writes'],
    ['postgres://a:x/name', 'must be an address such as'],
  ] as const)
    expect(() => parseAddress(url)).toThrow(fault)
})
