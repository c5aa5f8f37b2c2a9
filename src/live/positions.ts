import type { Model } from '../declare/model.ts'
import { Failure } from '../errors.ts'
import type { Feed } from '../journal/feed.ts'
import { isPosition, type Position } from '../journal/position.ts'
import { type MaybePromise, whenResolved } from '../maybe-promise.ts'

const FORM = /^(.+)-([0-9a-z]{1,13})$/

/**
 * Positions as callers have them: with a fingerprint of the declarations. If types, fields or rules have changed since,
 * it is not known what a caller saw then, so such a position is gone.
 */
export class Positions {
  readonly #feed: Feed
  readonly #model: Model
  #fingerprint: string | undefined

  constructor(feed: Feed, model: Model) {
    this.#feed = feed
    this.#model = model
  }

  textOf(position: Position): string {
    this.#fingerprint ??= fingerprintOf(this.#model)
    return `${position}-${this.#fingerprint}`
  }

  /** Undefined if the text is no position. Throws if it is one of other declarations. */
  parse(text: string): Position | undefined {
    const [, position = '', fingerprint] = FORM.exec(text) ?? []
    if (!isPosition(position)) return undefined
    this.#fingerprint ??= fingerprintOf(this.#model)
    if (fingerprint !== this.#fingerprint) throw new Failure('position_gone')
    return position
  }

  /** The header of an answer whose data are read after this. None if the database does not know its position. */
  header(): MaybePromise<Readonly<Record<string, string>>> {
    return whenResolved(this.#feed.recent(), (recent) => this.#headerOf(recent))
  }

  #headerOf(position: Position | undefined): Readonly<Record<string, string>> {
    return position === undefined ? {} : { 'Takeback-Position': this.textOf(position) }
  }
}

/** Of all that decides who sees what of the data. */
function fingerprintOf({ entities, admins }: Model): string {
  const parts = [...entities.values()].map(({ name, access, fields, computed }) => [
    name,
    access,
    fields,
    [...computed],
  ])
  return Bun.hash.rapidhash(JSON.stringify([admins, parts])).toString(36)
}
