import type { Database } from 'bun:sqlite'

/** How SQLite plans to find the rows of a statement. */
export interface QueryPlan {
  /** The nesting of loops over many rows: the number of rows read grows with that power. */
  readonly depth: number
  /** Whether an index finds the rows by equal values, in the requested order. */
  readonly served: boolean
  /** The plan as text. Statements with the same text find their rows in the same way. */
  readonly text: string
}

/** A line of `EXPLAIN QUERY PLAN`: its number, and that of its parent. */
type QueryPlanLine = readonly [id: number, parent: number, unused: number, detail: string]

export function queryPlanOf(database: Database, text: string): QueryPlan {
  const explain = database.prepare(`EXPLAIN QUERY PLAN ${text}`)
  try {
    const lines = explain.values() as unknown as QueryPlanLine[]
    const reading = new Reading(lines, (detail) => isOfOneRow(database, text, detail))
    return { ...reading.level(0), text: lines.map(([, , , detail]) => detail).join('\n') }
  } finally {
    explain.finalize()
  }
}

class Reading {
  readonly #lines: readonly QueryPlanLine[]
  readonly #isOfOneRow: (detail: string) => boolean
  /** Subqueries whose rows are scanned as they are made. Their loops are counted there. */
  readonly #made: ReadonlySet<string>

  constructor(lines: readonly QueryPlanLine[], isOfOneRow: (detail: string) => boolean) {
    this.#lines = lines
    this.#isOfOneRow = isOfOneRow
    this.#made = new Set(
      lines.flatMap(([, , , detail]) => /^(?:CO-ROUTINE|MATERIALIZE) (.+)$/.exec(detail)?.[1] ?? []),
    )
  }

  /** The depth of the lines under a parent. */
  level(parent: number): { depth: number; served: boolean } {
    const [fed, each, once] = [[0], [0], [0]]
    let [loops, served, sorts] = [0, true, false]
    for (const [id, above, , detail] of this.#lines) {
      if (above !== parent) continue
      const inner = this.level(id)
      served &&= inner.served
      if (this.#isLoop(detail)) {
        loops++
        served &&= isByEqualValues(detail)
      } else if (detail.startsWith('CORRELATED ')) each.push(inner.depth)
      else if (detail.startsWith('SCALAR SUBQUERY')) once.push(inner.depth)
      else if (detail.startsWith('USE TEMP B-TREE')) sorts = true
      else fed.push(inner.depth)
    }
    return {
      depth: Math.max(loops + Math.max(...fed) + Math.max(...each), ...once),
      served: served && !(sorts && loops > 0),
    }
  }

  #isLoop(detail: string): boolean {
    if (detail === 'MULTI-INDEX OR') return true
    const scanned = /^SCAN (.+?)(?: USING| VIRTUAL|$)/.exec(detail)?.[1]
    if (scanned !== undefined) return !this.#made.has(scanned) && !/CONSTANT ROW/.test(scanned)
    return detail.startsWith('SEARCH ') && !this.#isOfOneRow(detail)
  }
}

/** Whether a search is by equal values. A range alone may contain all rows. */
function isByEqualValues(detail: string): boolean {
  return detail === 'MULTI-INDEX OR' || (/^SEARCH .*\(.*=\?/.test(detail) && !/ANY\(/.test(detail))
}

/** Whether a search has all columns of a key, so that it finds at most one row. */
function isOfOneRow(database: Database, text: string, detail: string): boolean {
  if (/USING INTEGER PRIMARY KEY \(rowid=\?\)/.test(detail)) return true
  const [, alias = '', index, terms = ''] =
    /^SEARCH (\S+) USING (?:PRIMARY KEY|(?:COVERING )?INDEX (.+)) \((.*)\)/.exec(detail) ?? []
  const equal = terms.split(' AND ').filter((term) => term.endsWith('=?')).length
  if (equal === 0) return false
  if (index !== undefined) return equal === columnsOfUnique(database, index)
  const table = new RegExp(`"([^"]+)" ${alias}\\b`).exec(text)?.[1] ?? alias
  return equal === database.query(KEY_COLUMNS).values(table)[0]?.[0]
}

function columnsOfUnique(database: Database, index: string): unknown {
  return database.query(UNIQUE_COLUMNS).values(index)[0]?.[0]
}

const KEY_COLUMNS = `SELECT count(*) FROM pragma_table_info(?1) WHERE "pk" > 0`
const UNIQUE_COLUMNS = `SELECT (SELECT count(*) FROM pragma_index_info(?1)) FROM "sqlite_schema"
  WHERE "name" = ?1 AND "sql" LIKE 'CREATE UNIQUE%'`
