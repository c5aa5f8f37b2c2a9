/** An event of a stream of several lists. */
export interface TestStreamEvent {
  readonly list: number
  readonly id: string | undefined
  readonly data: any
}

/** A stream of several lists, as it comes. */
export class TestStream {
  readonly response: Response
  isOver = false
  #text = ''
  readonly #cut: AbortController

  constructor(response: Response, cut: AbortController) {
    this.response = response
    this.#cut = cut
    const read = async () => {
      for await (const chunk of response.body as ReadableStream<Uint8Array>)
        this.#text += new TextDecoder().decode(chunk)
    }
    read()
      .catch(() => {})
      .finally(() => {
        this.isOver = true
      })
  }

  static async open(
    { url }: { readonly url: string },
    body: unknown,
    token: string | null = null,
  ): Promise<TestStream> {
    const cut = new AbortController()
    const headers = {
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
      ...(token !== null && { Authorization: `Bearer ${token}` }),
    }
    const request = { method: 'POST', headers, body: JSON.stringify(body), signal: cut.signal }
    return new TestStream(await fetch(`${url}/api/changes/`, request), cut)
  }

  cut(): void {
    this.#cut.abort()
  }

  /** Everything that came. */
  get text(): string {
    return this.#text
  }

  /** The events with data of one list. */
  of(list: number): TestStreamEvent[] {
    return this.#text
      .split('\n\n')
      .slice(0, -1) // The last one may still be incomplete.
      .map((event) => {
        const line = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(event)?.[1]
        const data = line('data')
        return { list: Number(line('event')), id: line('id'), data: data && JSON.parse(data) }
      })
      .filter((event) => event.list === list && event.data !== undefined)
  }

  titles = (list: number): string[] =>
    this.of(list).map(({ data }) => `${data.type} ${data.data?.title ?? data.id}`)
}
