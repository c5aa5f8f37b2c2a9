import { describe, expect, test } from 'bun:test'
import { defaultRates } from './budget.ts'
import { readConfig } from './config.ts'
import { StartError } from './errors.ts'

describe('--rate-limit', () => {
  const read = (text: string) => readConfig({ 'rate-limit': text }, {}).rates

  test('leaves alone what it does not name', () => {
    expect(readConfig({}, {}).rates).toEqual(defaultRates)
    expect(read('')).toEqual(defaultRates)
    expect(read('reads=off')).toEqual({ ...defaultRates, reads: undefined })
    expect(readConfig({}, { TAKEBACK_RATE_LIMIT: 'reads=off' }).rates.reads).toBeUndefined()
  })

  test('takes so many at once, then so many a second, minute or hour; of streams, how many are open', () => {
    expect(read('signups=5/60m, writes=10/2s,reads=7200/7200h,streams=7')).toEqual({
      signUps: { burst: 5, perSecond: 1 },
      writes: { burst: 10, perSecond: 2 },
      reads: { burst: 7200, perSecond: 2 },
      streams: 7,
    })
    expect(read('streams=off').streams).toBeUndefined()
  })

  test('says what the default is in the same words', () => {
    expect(read('signups=200/20m,writes=2000/100s,reads=10000/500s,streams=1000')).toEqual(defaultRates)
  })

  test('is refused where it is anything else', () => {
    for (const text of [
      'reads',
      'reads=',
      'reads=on',
      'reads=10',
      'reads=10/5',
      'reads=10/5d',
      'streams=0',
      'streams=10/5s',
      'reads=0/5s',
      'reads=5/0s',
      'reads=-1/5s',
      'reads=1e3/5s',
      'reads=1.5/5s',
      'Reads=5/5s',
      'all=off',
      'reads=5/5s;writes=off',
      'reads=9999999999/5s',
    ])
      expect(() => read(text)).toThrow(StartError)
  })
})

describe('TAKEBACK_OIDC_<NAME>', () => {
  const read = (text: string, name = 'TAKEBACK_OIDC_GOOGLE') => readConfig({}, { [name]: text }).providers

  test('is a provider: its issuer, the id of the client and its secret', () => {
    expect(read('https://accounts.google.com, an-id ,a secret, with a comma')).toEqual([
      {
        name: 'google',
        issuer: new URL('https://accounts.google.com'),
        clientId: 'an-id',
        clientSecret: 'a secret, with a comma',
      },
    ])
    expect(read('')).toEqual([])
    for (const host of ['localhost:8080', '127.0.0.1', '[::1]:8080'])
      expect(read(`http://${host}/realms/main,an-id,a-secret`)).toHaveLength(1)
  })

  test('is refused where it is anything else, without its secret', () => {
    for (const text of [
      'https://accounts.google.com',
      'https://accounts.google.com,an-id',
      'https://accounts.google.com,,hidden',
      'accounts.google.com,an-id,hidden',
      'http://accounts.google.com,an-id,hidden',
      'http://localhost.example.com,an-id,hidden',
      'https://me:hidden@accounts.google.com,an-id,hidden',
      'https://accounts.google.com?a=1,an-id,hidden',
      'ftp://accounts.google.com,an-id,hidden',
    ]) {
      expect(() => read(text)).toThrow(StartError)
      expect(() => read(text)).toThrow(/^TAKEBACK_OIDC_GOOGLE (?!.*hidden)/)
    }
    expect(() => read('https://a.example.com,b,c', 'TAKEBACK_OIDC_')).toThrow('must end with a name')
    expect(() => read('https://a.example.com,b,c', 'TAKEBACK_OIDC_A-B')).toThrow('must end with a name')
  })
})
