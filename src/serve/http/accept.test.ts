import { expect, test } from 'bun:test'
import { admitsJson, isJson } from './accept.ts'

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
