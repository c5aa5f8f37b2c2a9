import { type HeaderName, refTo, type Success } from '../api/description.ts'
import { type Code, catalogue } from '../errors.ts'
import type { Operation } from './operation.ts'

function headersOf(names: readonly HeaderName[]): object {
  const all: HeaderName[] = ['Request-Id', ...names]
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The answers of a call, by status. Failures are shared components, since many calls fail in the same ways. */
export function responsesOf(operation: Operation): object {
  return Object.fromEntries([
    ...operation.answers.map(
      (answer) => [String(answer.status), successOf(answer, operation.types)] as const,
    ),
    ...groupCodes(operation.codes).map(
      ([status, codes]) => [String(status), { $ref: `#/components/responses/${nameOf(codes)}` }] as const,
    ),
  ])
}

function successOf({ description, headers, schema, example }: Success, types: readonly string[]): object {
  const content = { schema, ...(example !== undefined && { example }) }
  return {
    description,
    headers: headersOf(headers),
    ...(schema !== undefined && {
      content: Object.fromEntries(types.map((type) => [type, content])),
    }),
  }
}

/** `components.responses`: one for each set of codes that share a status in some call. */
export function failuresOf(operations: readonly Operation[]): object {
  const groups = operations.flatMap(({ codes }) => groupCodes(codes))
  return Object.fromEntries(groups.map(([status, codes]) => [nameOf(codes), failureOf(status, codes)]))
}

/** Codes are sorted as in the catalogue, so that the same set always has the same name. */
const order: readonly string[] = Object.keys(catalogue)

function groupCodes(codes: readonly Code[]): [status: number, codes: Code[]][] {
  const groups = new Map<number, Code[]>()
  for (const code of [...new Set(codes)].sort((a, b) => order.indexOf(a) - order.indexOf(b))) {
    const { status } = catalogue[code]
    groups.set(status, [...(groups.get(status) ?? []), code])
  }
  return [...groups]
}

function nameOf(codes: readonly Code[]): string {
  return codes.join('.')
}

const failureHeaders: Readonly<Partial<Record<number, readonly HeaderName[]>>> = {
  401: ['WWW-Authenticate'],
  415: ['Accept-Encoding'],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  503: ['Retry-After'],
}

function failureOf(status: number, codes: readonly Code[]): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${catalogue[code].message}`).join('\n\n'),
    headers: headersOf(failureHeaders[status] ?? []),
    content: {
      'application/json': {
        schema: {
          allOf: [refTo('Error'), { type: 'object', properties: { code: { type: 'string', enum: codes } } }],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: failureExample(code) }])),
      },
    },
    'x-codes': codes,
  }
}

/** Example `errors` of the codes that have them. */
const where: Readonly<Partial<Record<Code, Record<string, string[]>>>> = {
  invalid_data: {
    'address.zip': ['must match the pattern ^[0-9]{5}$'],
    customer: ['is required'],
    'customer.id': ['is required'],
  },
  in_use: { 'bookings.customer': ['12 bookings refer to it'] },
  cannot_undo: { 'bookings/7': ['was changed since, by users/3: guests'] },
  changed_meanwhile: {
    guests: ['was changed since version 3, by users/3 at 2026-06-02T17:00:00.000Z; is 4 now'],
  },
  target_deleted: { 'customer.id': ['refers to customers/5, which is deleted'] },
}

export function failureExample(code: Code): object {
  const { status, message } = catalogue[code]
  const errors = where[code]
  return {
    message,
    ...(errors !== undefined && { errors }),
    code,
    ...(status >= 500 && { request_id: '0c6f2a9d41be-7x' }),
  }
}
