import type { Model } from '../../declare/model.ts'
import { countInWords } from '../../declare/with-article.ts'
import { addError, type Errors } from '../../errors.ts'
import type { Row } from '../../store/dialect.ts'
import { addBrokenCheck } from '../condition/checks.ts'
import { obstacleOf } from '../past/obstacle.ts'
import { byType, type Reach } from '../tables/graph.ts'
import { pathOfTarget } from '../tables/links.ts'
import { uniquesOf } from '../tables/schema.ts'
import type { Disclosure } from '../viewer/disclosure.ts'
import { addTaken } from '../write/faults.ts'

/** Explains why a removal was refused. */
export interface RemovalExplanations {
  /** `it`: the word for what is removed. */
  explainHeld(rows: readonly Row[], errors: Errors, action: 'delete' | 'purge', it?: 'it' | 'them'): void
  explainDead(rows: readonly Row[], errors: Errors, self: number): void
  /** After a restore that was refused because of deleted targets: those targets. */
  deadTargets(rows: readonly Row[]): (readonly [type: string, id: number])[]
  /** After a restore that was refused for a taken value that `conflicts` lacks: in a reference to be set again. */
  explainSetAgain(errors: Errors): void
  explainConflicts(rows: readonly Row[], errors: Errors, self: number): void
  /** Reports failed checks: of the Entity itself, or of others that it takes or that refer to it. */
  explainUnmet(rows: readonly Row[], errors: Errors, self: number): void
}

export function explainRemovals(
  reach: Reach,
  back: Reach,
  model: Model,
  disclosure: Disclosure,
): RemovalExplanations {
  const [self] = reach.types
  const prefix = (type: string, member: unknown, own: number) =>
    type === self?.name && Number(member) === own ? '' : `${type}/${member}.`
  return {
    explainHeld(rows, errors, action, it = 'it') {
      for (const [at, number] of rows) {
        const edge = (action === 'delete' ? [...reach.restricts, ...reach.floors] : back.into)[Number(at)]
        if (edge === undefined) continue
        const target = edge.to === self?.name ? it : `${edge.to} that would be ${action}d with ${it}`
        const one = Number(number) === 1
        const who = countInWords(Number(number), edge.from)
        const needs =
          action === 'delete' && reach.floors.includes(edge)
            ? `, and must keep at least ${edge.list?.min} there`
            : ''
        const place = disclosure.column(edge.from, edge.column) ? `${edge.from}.${edge.path}` : edge.from
        addError(errors, place, `${who} ${one ? 'refers' : 'refer'} to ${target}${needs}`)
      }
    },
    explainDead(rows, errors, own) {
      for (const [key, member, target] of rows) {
        const [which, place] = String(key).split(' ')
        const edge = back.out[Number(which)]
        if (edge === undefined) continue
        const at = prefix(edge.from, member, own)
        if (disclosure.values(edge.from, [edge.column]))
          addError(errors, at + pathOfTarget(edge, place), `refers to ${edge.to}/${target}, which is deleted`)
        else addError(errors, at.slice(0, -1), 'refers to something that is deleted')
      }
    },
    deadTargets: (rows) =>
      rows.flatMap(([key, , target]) => {
        const edge = back.out[Number(String(key).split(' ')[0])]
        return edge === undefined ? [] : [[edge.to, Number(target)] as const]
      }),
    explainSetAgain(errors) {
      for (const { type, edges } of byType(back.clears, model))
        for (const set of uniquesOf(type))
          if (edges.some(({ column }) => set.includes(column))) {
            const named = set.filter((column) => disclosure.column(type.name, column))
            const place = named.length === 0 ? type.name : `${type.name}.${named.join('+')}`
            addError(errors, place, 'would no longer be unique if it were set again')
          }
    },
    explainUnmet(rows, errors, own) {
      for (const row of rows) {
        const obstacle = obstacleOf(row, model)
        const type = model.entities.get(obstacle.entity)
        if (obstacle.reason !== 'unmet' || type === undefined) continue
        // The ids of referrers are revealed only to those who see all of them.
        const isTold = disclosure.entity(type.name) || back.types.includes(type)
        const at = isTold ? prefix(type.name, obstacle.id, own) : `${type.name}.`
        addBrokenCheck(errors, obstacle.check, { type, disclosure, prefix: at })
      }
    },
    explainConflicts(rows, errors, own) {
      for (const [place, member, holder] of rows) {
        const [code, at] = String(place).split(' ').map(Number)
        const type = back.types[code ?? 0]
        if (type === undefined) continue
        const set = uniquesOf(type)[at ?? 0] ?? []
        const taken = { type: type.name, set, holder: Number(holder), prefix: prefix(type.name, member, own) }
        addTaken(errors, taken, disclosure)
      }
    },
  }
}
