import { expect, test } from 'bun:test'
import { isJson, preferredOf } from './accept.ts'

const JSON_TYPE = 'application/json'
const admitsJson = (header: string | null) => preferredOf(header, [JSON_TYPE]) === JSON_TYPE

test('the most specific range of an Accept header decides', () => {
  for (const header of [
    '*/*',
    'application/*;q=0.1',
    'text/html,application/json',
    'application/json; q=1',
    '*/*;q=0, application/json',
  ])
    expect([header, admitsJson(header)]).toEqual([header, true])
  for (const header of [
    null,
    '',
    'text/*',
    'application/json;q=0, */*',
    'application/*;q=0.0',
    'application/json+x',
  ])
    expect([header, admitsJson(header)]).toEqual([header, false])
})

test('JSON is one content type in many spellings', () => {
  for (const header of [
    'application/json',
    'Application/Json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json;profile=x',
  ])
    expect([header, isJson(header)]).toEqual([header, true])
  for (const header of [
    null,
    '',
    'text/json',
    'application/json, text/plain',
    'application/json;charset=utf-16',
  ])
    expect([header, isJson(header)]).toEqual([header, false])
})

test('of several types the one that is liked best is taken, and the first among equals', () => {
  const types = [JSON_TYPE, 'text/event-stream']
  const preferred = (header: string) => preferredOf(header, types)
  expect(preferred('text/event-stream')).toBe('text/event-stream')
  expect(preferred('application/json, text/event-stream')).toBe(JSON_TYPE)
  expect(preferred('application/json;q=0.5, text/event-stream')).toBe('text/event-stream')
  expect(preferred('text/*;q=0.9, */*;q=0.1')).toBe('text/event-stream')
  expect(preferred('*/*')).toBe(JSON_TYPE)
  expect(preferred('image/png')).toBeUndefined()
  expect(preferredOf('text/html', ['text/html; charset=utf-8'])).toBe('text/html; charset=utf-8')
})
