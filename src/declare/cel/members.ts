import type { Expression, Place, Root } from './expression.ts'
import { type Found, foundExpression } from './found.ts'
import type { Member, Members } from './scope.ts'

/** An Entity or an object, with its members. */
export function foundComposite(root: Root, members: Members): Found {
  return { is: 'composite', composite: { root, hops: [], members, there: undefined, reference: undefined } }
}

/** `outer`: the place that says whether the owner of the member is present. */
export function foundMember(root: Root, hops: Place['hops'], member: Member, outer?: Place): Found {
  const at = (column: string): Place => ({ root, hops, column })
  switch (member.is) {
    case 'value': {
      const { kind, scale, column, entity, folded, choices } = member
      return foundExpression({ op: 'value', kind, scale, entity, folded, place: at(column) }, choices)
    }
    case 'object': {
      const there = member.column === undefined ? outer : at(member.column)
      return {
        is: 'composite',
        composite: { root, hops, members: member.members, there, reference: undefined },
      }
    }
    case 'reference': {
      const { column, to } = member
      return {
        is: 'composite',
        composite: { root, hops, members: member.members(), there: at(column), reference: { column, to } },
      }
    }
    case 'list':
      return foundList(at(member.column), member)
    case 'json':
      return {
        is: 'composite',
        composite: { root, hops, members: noMembers, there: at(member.column), reference: undefined },
      }
  }
}

function foundList(place: Place, { item, max, entries }: Extract<Member, { is: 'list' }>): Found {
  if ('get' in item) return { is: 'list', list: { place, item: 'object', max, entries }, members: item }
  if (!('members' in item)) return { is: 'list', list: { place, item, max }, members: undefined }
  const { members, ...rows } = item
  return { is: 'list', list: { place, item: rows, max }, members: members() }
}

const noMembers: Members = { names: [], get: () => undefined }

export function likeMember(member: Member): Expression | undefined {
  const like = member.is === 'value' ? foundMember({ of: 'self' }, [], member) : undefined
  return like?.is === 'expression' ? like.of : undefined
}

export function insideOf(member: Member): Members[] {
  if (member.is === 'object') return [member.members]
  return member.is === 'reference' ? [member.members()] : []
}
