import { ownColumns } from '../migration/apply.ts'
import type { Memory } from '../migration/memory.ts'
import type { Column } from '../tables.ts'

/** A table as a copy sees it: all of its columns, and those that put its rows in an order. */
export interface Shelf {
  readonly name: string
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  /** The column that is numbered by the database, if any. */
  readonly numbered: string | undefined
}

/** Link tables are not among them: they are made from the lists. Entity types with all that is kept of them, what is aside and what is secret included; and Takeback's own. */
export function shelvesOf({ tables, format }: Pick<Memory, 'tables' | 'format'>): Shelf[] {
  return [
    ...tables.map(({ name, columns }) => ({
      name,
      columns: [integer('id'), ...ownColumns, ...columns],
      key: ['id'],
      numbered: 'id',
    })),
    {
      name: 'takeback_journal',
      columns: [
        integer('seq'),
        text('operation'),
        time('at'),
        text('actor'),
        integer('actor_id'),
        text('entity'),
        integer('entity_id'),
        integer('version'),
        text('kind'),
        text('data'),
      ],
      key: ['seq'],
      numbered: 'seq',
    },
    {
      name: 'takeback_cleared',
      columns: [
        text('operation'),
        text('entity'),
        integer('entity_id'),
        text('column'),
        integer('target'),
        ...(format < 2 ? [] : [integer('place')]),
      ],
      key: ['operation', 'entity', 'entity_id', 'column', 'target'],
      numbered: undefined,
    },
    {
      name: 'takeback_attempts',
      columns: [text('id'), time('at'), text('account'), text('address'), text('outcome')],
      key: ['id'],
      numbered: undefined,
    },
    {
      name: 'takeback_ended_sessions',
      columns: [text('session'), time('until')],
      key: ['session'],
      numbered: undefined,
    },
    {
      name: 'takeback_answers',
      columns: [
        text('key'),
        text('request'),
        time('at'),
        text('operation'),
        integer('status'),
        text('headers'),
        text('body'),
      ],
      key: ['key'],
      numbered: undefined,
    },
  ]
}

const text = (name: string): Column => ({ name, kind: 'text' })
const integer = (name: string): Column => ({ name, kind: 'integer' })
const time = (name: string): Column => ({ name, kind: 'datetime' })
