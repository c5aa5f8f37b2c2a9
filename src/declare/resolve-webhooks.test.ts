import { expect, test } from 'bun:test'
import { app, entity, env, ref, text } from '../takeback.ts'
import type { AppDeclaration } from './define.ts'
import { resolve } from './resolve.ts'

const SECRET = `whsec_${btoa('0123456789abcdef01234567')}`
const right = { to: 'https://erp.example.com/in', secret: SECRET, on: ['orders.*'] }
const entities = {
  orders: entity({ fields: { title: text({ fold: true }) } }),
  invoices: entity({ fields: { order: ref('orders', { as: 'invoices' }) } }),
}

function modelOf(webhooks: unknown) {
  return resolve({ ...app({ entities }), webhooks } as AppDeclaration)
}

test('a webhook is resolved', () => {
  const [erp, other] = modelOf({
    erp: { ...right, secret: [SECRET, `whsec_${btoa('x'.repeat(64))}`], on: ['orders.*', 'invoices.create'] },
    other: { ...right, to: 'http://LOCALHOST:9000', allow: ['localhost:9000'] },
  }).webhooks
  expect(erp).toMatchObject({ name: 'erp', to: 'https://erp.example.com/in', allowed: false })
  expect(erp?.secrets.length).toBe(2)
  expect([...(erp?.kinds ?? [])].map(([entity, kinds]) => [entity, [...kinds].join(' ')])).toEqual([
    ['orders', 'create update delete restore purge'],
    ['invoices', 'create'],
  ])
  expect(other).toMatchObject({ to: 'http://localhost:9000/', allowed: true })
})

/** A wrong declaration, and the expected message. */
const mistakes: readonly (readonly [declared: unknown, said: string])[] = [
  [[], 'webhooks: must be webhooks by name'],
  [{ 'E R P': right }, 'webhooks.E R P: must be named with lower-case letters'],
  [{ erp: 'https://erp.example.com' }, 'webhooks.erp: must be an object with to, secret and on'],
  [{ erp: { ...right, secrt: SECRET } }, 'webhooks.erp.secrt: is not an option; did you mean "secret"?'],
  [{ erp: { ...right, to: 'erp.example.com' } }, 'webhooks.erp.to: must be a URL'],
  [{ erp: { ...right, to: 'ftp://erp.example.com' } }, 'webhooks.erp.to: must be a URL'],
  [
    { erp: { ...right, to: 'http://erp.example.com' } },
    "https://; for a network that you trust, add allow: ['erp.example.com:80']",
  ],
  [
    { erp: { ...right, to: 'https://localhost' } },
    "is not on the public internet; if that is intended, add allow: ['localhost:443']",
  ],
  [{ erp: { ...right, to: 'https://0x7f.1:8000' } }, "add allow: ['127.0.0.1:8000']"],
  [{ erp: { ...right, to: 'https://[::1]' } }, "add allow: ['[::1]:443']"],
  [
    { erp: { ...right, to: 'https://[::ffff:10.0.0.1]', allow: ['10.0.0.1'] } },
    'is not on the public internet',
  ],
  [{ erp: { ...right, allow: 'localhost' } }, 'webhooks.erp.allow: must be a list of hosts'],
  [{ erp: { ...right, to: 'https://u:%@erp.example.com' } }, 'has a user or a password that is not encoded'],
  [{ erp: { ...right, filter: 1 } }, 'webhooks.erp.filter: must be a condition in CEL'],
  [{ erp: { ...right, filter: 'titel == "x"' } }, 'did you mean "title"?'],
  [{ erp: { ...right, filter: 'title == me.id' } }, 'uses me, but a webhook has no caller'],
  [{ erp: { ...right, filter: 'created_at < now' } }, 'uses now, but a retry comes later'],
  [{ erp: { ...right, filter: 'fold(title) == "x"' } }, 'uses fold(), but the journal'],
  [
    { erp: { ...right, on: ['invoices.*'], filter: 'size(order.invoices) > 1' } },
    'uses referrers, but they change without the Entity',
  ],
  [{ erp: { ...right, filter: 'true' } }, 'does not depend on the Entity'],
  [
    { erp: { ...right, filter: 'title == "x"', on: ['orders.*', 'invoices.*'] } },
    'webhooks.erp.filter: is for events of one type',
  ],
  [{ erp: { ...right, secret: 'short' } }, 'webhooks.erp.secret: must be whsec_ and 24 to 64 bytes'],
  [{ erp: { ...right, secret: `whsec_${btoa('x'.repeat(23))}` } }, 'webhooks.erp.secret: must be'],
  [{ erp: { ...right, secret: [SECRET, `whsec_${btoa('x'.repeat(65))}`] } }, 'webhooks.erp.secret: must be'],
  [{ erp: { ...right, secret: [] } }, 'webhooks.erp.secret: must be'],
  [{ erp: { ...right, on: [] } }, 'webhooks.erp.on: must be a list of events'],
  [
    { erp: { ...right, on: ['ordrs.*'] } },
    'webhooks.erp.on.0: "ordrs" is not an Entity type; did you mean "orders"?',
  ],
  [{ erp: { ...right, on: ['orders'] } }, "must be a type and a kind of change, such as 'orders.*'"],
  [{ erp: { ...right, on: ['orders.created'] } }, 'is not an event; did you mean "create"?'],
  [{ erp: { ...right, on: ['orders.title.update'] } }, '"orders.title.update" is not an event'],
]

test('mistakes are named with their place and what would be right', () => {
  for (const [declared, said] of mistakes) {
    expect(() => modelOf(declared)).toThrow(said)
    // No message repeats a secret.
    try {
      modelOf(declared)
    } catch (error) {
      expect(String(error)).not.toContain(SECRET.slice(6))
    }
  }
})

test('env takes a value from the environment, and names one that is missing', () => {
  process.env.TAKEBACK_TEST_VALUE = 'there'
  expect(env('TAKEBACK_TEST_VALUE')).toBe('there')
  expect(env('TAKEBACK_TEST_NOTHING', 'otherwise')).toBe('otherwise')
  expect(() => env('TAKEBACK_TEST_NOTHING')).toThrow('TAKEBACK_TEST_NOTHING')
})
