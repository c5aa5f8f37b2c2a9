import { expect } from 'bun:test'
import type { Step } from '../src/store/step.ts'
import { eventually, type TestResponse, type TestServer } from './harness.ts'

/** Records all statements of a server from now on. */
export function recorded(server: TestServer): Set<string> {
  const texts = new Set<string>()
  const { store } = server.context
  const { read, write, transact } = store
  const noteAll = (steps: readonly Step[]) => {
    for (const { statement } of steps) texts.add(statement.text)
  }
  store.read = (statement, params) => {
    texts.add(statement.text)
    return read.call(store, statement, params)
  }
  store.write = (steps, params) => {
    noteAll(steps)
    return write.call(store, steps, params)
  }
  store.transact = (make) =>
    transact.call(store, function* () {
      const work = make()
      let next = work.next()
      while (!next.done) {
        const ask = next.value
        if (ask.kind === 'write') noteAll(ask.steps)
        if (ask.kind === 'read') texts.add(ask.statement.text)
        next = work.next(yield ask)
      }
      return next.value
    } as never) as never
  return texts
}

export type Values = Record<string, unknown>

/** Values for fields of a type, and the filters that find them. */
export interface Case {
  readonly type: string
  readonly first: Values
  readonly second: Values
  /** Filters and sorts that must find exactly the one Entity while it has its first values. */
  readonly filters: readonly string[]
  readonly sorts: readonly string[]
  readonly expands?: readonly string[]
  readonly words?: string
  readonly figures?: readonly string[]
}

/** Makes every call there is, on one Entity and one other that never changes, and compares with plain values. */
export class Flow {
  readonly #server: TestServer
  readonly #token: string
  readonly #case: Case

  constructor(server: TestServer, token: string, one: Case) {
    this.#server = server
    this.#token = token
    this.#case = one
  }

  async #call(method: string, path: string, body?: unknown): Promise<TestResponse> {
    const received = await this.#server.call(method, path, {
      token: this.#token,
      ...(body !== undefined && { body }),
    })
    if (received.status > 299) {
      await Bun.sleep(100)
      const logged = this.#server.logged.join('').split('\n')
      const reason = logged.filter((line) => line.includes('"level":"error"')).at(-1)
      throw new Error(
        `${this.#case.type}: ${method} ${path}: ${received.status} ${received.text} ${reason ?? ''}`,
      )
    }
    return received
  }

  async #expectValues(id: number, values: Values, deleted = false): Promise<void> {
    const { body } = await this.#call('GET', `/api/${this.#case.type}/?trashed=with&id=${id}`)
    const [{ id: _, version: __, created_at, updated_at, deleted_at, deletion, ...fields }] = body.data
    expect([created_at, updated_at]).toEqual([expect.any(String), expect.any(String)])
    expect([fields, deleted_at !== null]).toEqual([values, deleted])
  }

  #undo(received: TestResponse): Promise<TestResponse> {
    return this.#call('POST', `/api/operations/${received.headers.get('Takeback-Operation')}/undo/`)
  }

  /** Expects that a follower receives these values. */
  async #expectTold(
    { headers }: TestResponse,
    { id, values }: { id: number; values: Values },
  ): Promise<void> {
    const { type } = this.#case
    const since = headers.get('Takeback-Position')
    let told: Values[] = []
    // The feed waits until nothing earlier can still be committed.
    await eventually(async () => {
      told = (await this.#call('GET', `/api/changes/?entity=${type}&since=${since}`)).body.data
      return told.some((one) => one.id === id && one.version === 2)
    })
    expect(told.at(-1)).toMatchObject({ type: 'upsert', entity: type, id, data: values })
  }

  async run(): Promise<void> {
    const { type, first, second } = this.#case
    const path = `/api/${type}/`
    const created = await this.#call('POST', path, first)
    const { id } = created.body
    const own = `${path}${id}/`
    await this.#expectValues(id, first)
    await this.#ask(id)
    const before = await this.#call('GET', own)
    const updated = await this.#call('PATCH', own, second)
    await this.#expectValues(id, second)
    await this.#expectTold(before, { id, values: second })
    const then = (await this.#call('GET', `${own}?at=${created.body.updated_at}`)).body
    expect(then).toMatchObject(then.version === 1 ? first : second)
    const undone = await this.#undo(updated)
    await this.#expectValues(id, first)
    expect(undone.body.changes).toMatchObject([{ entity: type, id, kind: 'update' }])
    await this.#undo(undone)
    await this.#expectValues(id, second)
    await this.#call('POST', `${own}revert/`, { version: 1 })
    await this.#expectValues(id, first)
    const { data } = (await this.#call('GET', `${own}history/`)).body
    expect(data.map(({ kind }: { kind: string }) => kind)).toEqual([
      'update',
      'update',
      'update',
      'update',
      'create',
    ])
    for (const { changed } of data) expect(Object.keys(changed).length).toBeGreaterThan(0)
    const batched = await this.#call('POST', '/api/batch/', [
      { method: 'PATCH', path: own, body: second },
      { method: 'PUT', path: own, body: first },
      { method: 'PATCH', path: own, body: second },
    ])
    await this.#undo(batched)
    await this.#expectValues(id, first)
    const deleted = await this.#call('DELETE', own)
    await this.#expectValues(id, first, true)
    await this.#call('DELETE', `${own}?restore=1`)
    await this.#expectValues(id, first)
    const again = await this.#call('DELETE', own)
    await this.#undo(again)
    await this.#expectValues(id, first)
    await this.#call('GET', `/api/operations/${deleted.headers.get('Takeback-Operation')}/`)
    await this.#undo(await this.#call('POST', path, second))
  }

  /** Makes each call once: for the many types that differ only in their names. */
  async runOnce(): Promise<void> {
    const { type, first, second } = this.#case
    const path = `/api/${type}/`
    const created = await this.#call('POST', path, first)
    const { id } = created.body
    const own = `${path}${id}/`
    await this.#ask(id)
    const before = await this.#call('GET', own)
    const updated = await this.#call('PATCH', own, second)
    expect([created.body, updated.body]).toMatchObject([first, second])
    await this.#expectTold(before, { id, values: second })
    const then = (await this.#call('GET', `${own}?at=${created.body.updated_at}`)).body
    expect(then).toMatchObject(then.version === 1 ? first : second)
    await this.#undo(updated)
    await this.#call('POST', '/api/batch/', [
      { method: 'PATCH', path: own, body: second },
      { method: 'PUT', path: own, body: first },
      { method: 'PATCH', path: own, body: second },
    ])
    expect((await this.#call('POST', `${own}revert/`, { version: 1 })).body).toMatchObject(first)
    const deleted = await this.#call('DELETE', own)
    await this.#expectValues(id, first, true)
    await this.#call('DELETE', `${own}?restore=1`)
    await this.#undo(await this.#call('DELETE', own))
    await this.#expectValues(id, first)
    const { data } = (await this.#call('GET', `${own}history/`)).body
    expect(data.map(({ kind }: { kind: string }) => kind)).toEqual([
      ...['restore', 'delete', 'restore', 'delete'],
      ...['update', 'update', 'update', 'update', 'update', 'update', 'create'],
    ])
    await this.#call('GET', `/api/operations/${deleted.headers.get('Takeback-Operation')}/`)
    await this.#undo(await this.#call('POST', path, { ...second, words: 'quite another' }))
  }

  async #ask(id: number): Promise<void> {
    const { type, filters, sorts, expands = [], words, figures = [] } = this.#case
    const path = `/api/${type}/`
    const found = async (query: string) => {
      const { data } = (await this.#call('GET', `${path}?${query}`)).body
      expect([query, data.map((one: { id: number }) => one.id)]).toEqual([query, [id]])
      return data[0]
    }
    for (const filter of filters) await found(`filter=${encodeURIComponent(filter)}`)
    for (const sort of sorts)
      await found(`sort=-${sort}&count=1&fields=id,${sort.replaceAll('-', '')}&id=${id}`)
    for (const expand of expands) {
      const one = await found(`expand=${expand}&id=${id}`)
      for (const name of expand.split(',')) expect([one[name]].flat()[0]).toMatchObject({ id: 1, version: 1 })
    }
    if (words !== undefined) await found(`search=${words}`)
    for (const group of figures) {
      const { data } = (await this.#call('GET', `${path}summary/?group=${group}&min=${group}&sum=${group}`))
        .body
      expect(data.at(-1).group).toEqual(data.at(-1).min)
    }
  }
}
