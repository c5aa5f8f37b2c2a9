import { beforeAll, expect, test } from 'bun:test'
import { date, datetime, entity, everyone, text } from '../../src/takeback.ts'
import { withAdmins } from '../declarations.ts'
import { onEveryStore } from '../harness.ts'

const optional = { optional: true } as const

/** A calendar. */
const calendar = withAdmins({
  users: entity({ login: { userType: 'user' }, fields: { name: text() } }),
  events: entity({
    fields: {
      title: text(),
      starts_at: datetime(optional),
      day: date(optional),
      hidden_at: datetime({ optional: true, read: 'title == "open"' }),
    },
    access: {
      read: everyone,
      // Office hours: Monday to Friday, 8 to 17, in Zurich.
      create: `starts_at.weekday("Europe/Zurich") <= 5
        && starts_at.hour("Europe/Zurich") >= 8 && starts_at.hour("Europe/Zurich") < 17`,
    },
  }),
})

onEveryStore('parts of times', calendar, (server) => {
  let token = ''
  const asked = (filter: string) => `/api/events/?filter=${encodeURIComponent(filter)}`
  const titles = async (filter: string, sent = {}): Promise<string> => {
    const { data } = await server.expect(200, 'GET', asked(filter), undefined, sent)
    return data.map(({ title }: { title: string }) => title).join(' ')
  }

  beforeAll(async () => {
    token = (await server.user('users', { email: 'ann@example.com', name: 'Ann' })).token
    await server.expect(201, 'POST', '/api/events/', [
      { title: 'party', starts_at: '2026-12-31T23:30:00Z', day: '2026-12-31' },
      { title: 'spring', starts_at: '2026-03-29T00:59:59.999Z', day: '2026-03-29' },
      { title: 'summer', starts_at: '2026-03-29T01:00:00Z', hidden_at: '2026-03-29T01:00:00Z' },
      { title: 'open', starts_at: '2026-12-15T12:00:00Z', hidden_at: '2026-03-29T01:00:00Z' },
      { title: 'first', starts_at: '0001-01-01T00:00:00Z', day: '0001-01-01' },
      { title: 'never' },
    ])
  })

  test('are those of the clocks in a zone, UTC if none is named', async () => {
    for (const [filter, found] of [
      ['starts_at.year() == 2026 && starts_at.month() == 12 && starts_at.day() == 31', 'party'],
      ['starts_at.year("Europe/Zurich") == 2027', 'party'],
      ['starts_at.date("Europe/Zurich") == "2027-01-01"', 'party'],
      ['starts_at.date() == day', 'party spring first'],
      ['starts_at.date("Europe/Zurich") > day', 'party'],
      ['starts_at.hour("Europe/Zurich") == 1 && starts_at.minute("Europe/Zurich") == 59', 'spring'],
      ['starts_at.hour("Europe/Zurich") == 3', 'summer'],
      ['starts_at.hour("Asia/Kolkata") * 60 + starts_at.minute("Asia/Kolkata") == 390', 'summer'],
      ['starts_at.weekday() == 7', 'spring summer'],
      ['day.weekday() == 4 && day.month() == 12', 'party'],
      ['(starts_at + duration("30m")).year() == 2027', 'party'],
      // Outside of the years that can be written, neither a condition nor its opposite holds.
      [
        '(starts_at - duration("1h")).year() < 2000 || !((starts_at - duration("1h")).year() < 2000)',
        'party spring summer open',
      ],
      ['timestamp("2026-06-01T00:00:00Z").month() == starts_at.month() + 3', 'spring summer'],
    ] as const)
      expect([filter, await titles(filter)]).toEqual([filter, found])
  })

  test('have one calendar of clock changes on every database', async () => {
    // Databases learn of new clock changes at different times.
    for (const zone of ['America/Vancouver', 'Asia/Gaza', 'Africa/Casablanca', 'Australia/Lord_Howe']) {
      const { hour, minute } = Temporal.Instant.from('2026-12-15T12:00:00Z').toZonedDateTimeISO(zone)
      const filter = `starts_at.hour("${zone}") == ${hour} && starts_at.minute("${zone}") == ${minute}`
      expect([zone, await titles(`title == "open" && ${filter}`)]).toEqual([zone, 'open'])
    }
  })

  test('say what is wrong', async () => {
    for (const [filter, said] of [
      ['title.year() == 1', 'needs a date or a time before .year()'],
      ['"2026-01-01".year() == 1', 'needs a date or a time before .year()'],
      ['day.hour() == 1', 'has .hour() of a date, which has no time,'],
      ['day.year("UTC") == 1', 'has a time zone for a date, which has none,'],
      [
        'starts_at.year("Europe/Zurick") == 1',
        '"Europe/Zurick" is not a time zone, such as Europe/Berlin or UTC',
      ],
      ['starts_at.year(title) == 1', 'needs a time zone in quotes'],
      ['starts_at.year("UTC", "UTC") == 1', 'needs no more than a time zone in year()'],
    ] as const) {
      const { status, body } = await server.call('GET', asked(filter))
      expect([filter, status, body.errors?.filter?.[0]]).toEqual([filter, 422, expect.stringContaining(said)])
    }
  })

  test('are part of rules, and tell nothing of what the caller may not see', async () => {
    const post = async (starts_at: string) =>
      (await server.call('POST', '/api/events/', { body: { title: 'x', starts_at }, token })).status
    expect([await post('2026-06-01T06:00:00Z'), await post('2026-06-01T05:59:59Z')]).toEqual([201, 403])
    expect([await post('2026-12-01T07:00:00Z'), await post('2026-12-05T10:00:00Z')]).toEqual([201, 403])
    expect(await titles('hidden_at.month("Europe/Zurich") == 3', { token })).toBe('open')
    expect(await titles('hidden_at.date() == "2026-03-29"', { token })).toBe('open')
  })
})
