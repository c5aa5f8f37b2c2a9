import { describe, expect, test } from 'bun:test'
import { closeSync, openSync } from 'node:fs'
import type { ServerEvent } from './events.ts'
import { type LogFormat, logOf } from './log.ts'
import { LogOutput } from './log-output.ts'
import { Observer } from './observer.ts'

const error = Object.assign(new Error('no room'), { stack: 'Error: no room\n    at here' })
const answered = {
  kind: 'request_answered',
  method: 'GET',
  path: '/api/rooms/?search=ü',
  status: 200,
  ms: 1.26,
  requestId: 'r-1',
  actor: 'users/3',
  address: '192.0.2.1',
} as const
const operation = '01900000-0000-7000-8000-000000000000'

/** Each event, with its line for people and its line for programs. `T` and `C` stand for the time and the clock. */
const lines: readonly (readonly [event: ServerEvent, pretty: string, json: string])[] = [
  [
    answered,
    'C  200  GET    /api/rooms/?search=%C3%BC  1.3 ms  users/3  192.0.2.1  r-1',
    '{"time":"T","method":"GET","path":"/api/rooms/?search=ü","status":200,"ms":1.3,"request_id":"r-1","actor":"users/3","address":"192.0.2.1"}',
  ],
  [
    { ...answered, method: 'POST', path: '/api/auth/login', status: 422, ms: 0, actor: null, account: 'abc' },
    'C  422  POST   /api/auth/login  0 ms  -  192.0.2.1  r-1  login failed  account abc',
    '{"time":"T","method":"POST","path":"/api/auth/login","status":422,"ms":0,"request_id":"r-1","actor":null,"address":"192.0.2.1","login":"failed","account":"abc"}',
  ],
  [
    { kind: 'request_failed', message: 'Internal Server Error', error, requestId: 'r-1' },
    'C  error  Internal Server Error  r-1\nError: no room\n    at here',
    '{"time":"T","level":"error","message":"Internal Server Error","request_id":"r-1","detail":"Error: no room\\n    at here"}',
  ],
  [
    { kind: 'proxy_not_trusted', peer: '10.0.0.1' },
    'C  warning  A request has X-Forwarded-For, but no proxy is trusted: all clients behind a proxy count as one address. If 10.0.0.1 is your proxy, start with --trusted-proxies 10.0.0.1.',
    '{"time":"T","level":"warn","message":"A request has X-Forwarded-For, but no proxy is trusted: all clients behind a proxy count as one address. If 10.0.0.1 is your proxy, start with --trusted-proxies 10.0.0.1."}',
  ],
  [
    {
      kind: 'ready',
      url: 'http://h:1',
      database: 'a.db',
      console: 'http://h:1/console/',
      docs: 'http://h:1/docs',
    },
    'Takeback is ready at http://h:1, with the data in a.db. Console: http://h:1/console/ API reference: http://h:1/docs',
    '{"time":"T","message":"Takeback is ready at http://h:1, with the data in a.db. Console: http://h:1/console/ API reference: http://h:1/docs","url":"http://h:1","database":"a.db"}',
  ],
  [
    { kind: 'ready', url: 'http://h:1', database: 'a.db', console: undefined, docs: undefined },
    'Takeback is ready at http://h:1, with the data in a.db.',
    '{"time":"T","message":"Takeback is ready at http://h:1, with the data in a.db.","url":"http://h:1","database":"a.db"}',
  ],
  [
    { kind: 'database_exposed', files: ['a.db', 'a.db-wal'] },
    'Others on this machine can open the database: run "chmod 600 a.db a.db-wal"',
    '{"time":"T","message":"Others on this machine can open the database: run \\"chmod 600 a.db a.db-wal\\""}',
  ],
  [
    { kind: 'denials_explained' },
    'Refusals name the rules behind them (--explain-denials): for development only',
    '{"time":"T","message":"Refusals name the rules behind them (--explain-denials): for development only"}',
  ],
  [
    { kind: 'stopping', ms: 5000 },
    'Takeback stops in 5 s: /api/health answers 503',
    '{"time":"T","message":"Takeback stops in 5 s: /api/health answers 503"}',
  ],
  [{ kind: 'stopped' }, 'Takeback has stopped', '{"time":"T","message":"Takeback has stopped"}'],
  [
    { kind: 'database_lost', error: 'gone' },
    'C  error  Writing to the database failed: Takeback stops, and the next start reads what is on disk\ngone',
    '{"time":"T","level":"error","message":"Writing to the database failed: Takeback stops, and the next start reads what is on disk","detail":"gone"}',
  ],
  [
    { kind: 'work_failed', work: 'retention', error },
    'C  error  Old data could not be erased\nError: no room\n    at here',
    '{"time":"T","level":"error","message":"Old data could not be erased","detail":"Error: no room\\n    at here"}',
  ],
  [
    { kind: 'work_failed', work: 'backup', error },
    'C  error  The backup failed\nError: no room\n    at here',
    '{"time":"T","level":"error","message":"The backup failed","detail":"Error: no room\\n    at here"}',
  ],
  [
    { kind: 'work_failed', work: 'other', error },
    'C  error  The background work "other" failed\nError: no room\n    at here',
    '{"time":"T","level":"error","message":"The background work \\"other\\" failed","detail":"Error: no room\\n    at here"}',
  ],
  [
    { kind: 'lease_lost', work: 'retention' },
    'C  warning  Another instance has taken over "retention": this one was frozen or had no connection to the database',
    '{"time":"T","level":"warn","message":"Another instance has taken over \\"retention\\": this one was frozen or had no connection to the database"}',
  ],
  [
    { kind: 'task_failed', queue: 'mail', id: 7, key: null, attempts: 2, error, pauseMs: 2100 },
    'C  warning  Task 7 of the queue "mail" failed. The next attempt is in 3 s: no room',
    '{"time":"T","level":"warn","message":"Task 7 of the queue \\"mail\\" failed. The next attempt is in 3 s: no room"}',
  ],
  [
    { kind: 'task_set_aside', queue: 'mail', id: 7, key: null, attempts: 36, error },
    'C  error  Task 7 of the queue "mail" was set aside after 36 attempts\nError: no room\n    at here',
    '{"time":"T","level":"error","message":"Task 7 of the queue \\"mail\\" was set aside after 36 attempts","detail":"Error: no room\\n    at here"}',
  ],
  [
    { kind: 'purged', entity: 'notes', id: 7, entities: 3, operation },
    'Purged by retention: notes/7, 3 Entities in all',
    `{"time":"T","message":"Purged by retention: notes/7, 3 Entities in all","actor":"system","entity":"notes","id":"7","entities":"3","operation":"${operation}"}`,
  ],
  [
    { kind: 'purged', entity: 'notes', id: 7, entities: 1, operation },
    'Purged by retention: notes/7',
    `{"time":"T","message":"Purged by retention: notes/7","actor":"system","entity":"notes","id":"7","entities":"1","operation":"${operation}"}`,
  ],
  [
    { kind: 'clock_doubted', doubt: 'The clock is wrong' },
    'The clock is wrong. Nothing is erased until somebody confirms the clock with "takeback retention confirm".',
    '{"time":"T","message":"The clock is wrong. Nothing is erased until somebody confirms the clock with \\"takeback retention confirm\\".","level":"warning"}',
  ],
  [
    { kind: 'backup_made', file: 'b.db', bytes: 4096, rows: 12, lastChange: 9, ms: 80 },
    'Backed up to b.db: 4096 bytes, 12 rows',
    '{"time":"T","message":"Backed up to b.db: 4096 bytes, 12 rows","file":"b.db","bytes":"4096","rows":"12","last_change":"9","ms":"80"}',
  ],
  [
    { kind: 'backup_removed', file: 'b.db' },
    'Removed the old backup b.db',
    '{"time":"T","message":"Removed the old backup b.db","file":"b.db"}',
  ],
  [
    { kind: 'rates_not_exchanged', error },
    'C  error  Instances could not share their rate limit counts\nError: no room\n    at here',
    '{"time":"T","level":"error","message":"Instances could not share their rate limit counts","detail":"Error: no room\\n    at here"}',
  ],
]

function written(format: LogFormat, event: ServerEvent): string {
  const observer = new Observer()
  let text = ''
  const log = logOf(observer, format, (more) => {
    text += more
  })
  observer.emit(event)
  log.flush()
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]{12}Z/g, 'T').replace(/^[\d:.]{12} /, 'C ')
}

describe('the log', () => {
  for (const [event, pretty, json] of lines)
    test(`of ${event.kind}`, () => {
      expect(written('pretty', event)).toBe(`${pretty}\n`)
      expect(written('json', event)).toBe(`${json}\n`)
    })

  test('says nothing of what others tell already', () => {
    const quiet: ServerEvent[] = [
      { kind: 'database_away', message: 'no answer' },
      { kind: 'database_back' },
      { kind: 'work_done', work: 'retention', ms: 1 },
      { kind: 'task_done', queue: 'mail', id: 1, ms: 1 },
      { kind: 'log_lines_dropped', lines: 3 },
    ]
    for (const event of quiet) expect(written('json', event)).toBe('')
  })
})

test('lines that cannot be written are told, once for each line', async () => {
  const full = openSync('/dev/full', 'w')
  const told: number[] = []
  const output = new LogOutput(full, { dropped: (lines) => told.push(lines), notice: () => '' })
  await new Promise<void>((done) => output.write('a\nb\n', done))
  await new Promise<void>((done) => output.write('c\n', done))
  closeSync(full)
  expect(told).toEqual([2, 1])
})

describe('an observer', () => {
  test('passes on to all subscribers, for as long as they want', () => {
    const observer = new Observer()
    const heard: string[] = []
    const end = observer.subscribe(({ kind }) => heard.push(`a ${kind}`))
    observer.subscribe(({ kind }) => heard.push(`b ${kind}`))
    observer.emit({ kind: 'stopped' })
    end()
    observer.emit({ kind: 'stopping', ms: 1 })
    expect(heard).toEqual(['a stopped', 'b stopped', 'b stopping'])
  })

  test('lets one that fails stop nobody', () => {
    const observer = new Observer()
    const heard: string[] = []
    observer.subscribe(() => {
      throw new Error('no log')
    })
    observer.subscribe(({ kind }) => heard.push(kind))
    observer.emit({ kind: 'stopped' })
    expect(heard).toEqual(['stopped'])
  })
})
