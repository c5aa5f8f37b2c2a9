/** What is wrong with a JSON text (RFC 8259). */
interface Inspection {
  /** The first fault, with its line and column. */
  readonly fault?: string
  /** Dot paths of the keys that an object has more than once. */
  readonly duplicates: readonly string[]
}

class Fault extends Error {}

/** Paths are cut to this length: an answer must not be larger than the body. */
const PATH_MAX = 200
const DUPLICATES_MAX = 20

/**
 * Inspects a text character by character. Called only for a body that is refused, to say where a fault is, which
 * `JSON.parse` does not, or which keys are duplicates, which it does not notice.
 */
export function inspectJson(text: string): Inspection {
  const inspector = new Inspector(text)
  try {
    inspector.run()
    return { duplicates: inspector.duplicates }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return { fault: `${error.message} at ${placeInText(text, inspector.at)}`, duplicates: [] }
  }
}

/** Counts surrogate pairs as one character, as people do. */
function placeInText(text: string, end: number): string {
  let line = 1
  let column = 1
  for (let at = 0; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x0a) {
      line++
      column = 1
    } else if (code < 0xdc00 || code > 0xdfff) column++
  }
  return `line ${line}, column ${column}`
}

function shorten(path: string): string {
  return path.length <= PATH_MAX ? path : `${path.slice(0, PATH_MAX)}…`
}

const ESCAPES = '"\\/bfnrt'
const WORDS: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' }

const isDigit = (code: number) => code >= 0x30 && code <= 0x39
const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

class Inspector {
  readonly duplicates: string[] = []
  readonly #text: string
  /** The path to the current position. */
  readonly #path: (string | number)[] = []
  at = 0

  constructor(text: string) {
    this.#text = text
  }

  run(): void {
    this.#value()
    this.#space()
    if (this.at < this.#text.length) throw this.#fault('has more after its end')
  }

  #value(): void {
    this.#space()
    const first = this.#text[this.at] ?? ''
    if (first === '"') this.#string()
    else if (first === '{') this.#object()
    else if (first === '[') this.#list()
    else if (first === '-' || isDigit(this.#text.charCodeAt(this.at))) this.#number()
    else if (Object.hasOwn(WORDS, first)) this.#word(WORDS[first] ?? '')
    else throw this.#fault('must have a value')
  }

  #object(): void {
    const keys = new Set<string>()
    this.#members('}', () => {
      if (this.#text[this.at] !== '"') throw this.#fault('must have a key in double quotes')
      const key = this.#string()
      this.#path.push(key)
      if (keys.has(key) && this.duplicates.length < DUPLICATES_MAX)
        this.duplicates.push(shorten(this.#path.join('.')))
      keys.add(key)
      this.#space()
      if (!this.#take(':')) throw this.#fault('must have a colon after a key')
      this.#value()
      this.#path.pop()
    })
  }

  #list(): void {
    const depth = this.#path.push(0)
    let count = 0
    this.#members(']', () => {
      this.#path[depth - 1] = count++
      this.#value()
    })
    this.#path.pop()
  }

  /** Reads the items between brackets, separated by commas. */
  #members(close: string, member: () => void): void {
    this.at++
    this.#space()
    if (this.#take(close)) return
    for (;;) {
      this.#space()
      member()
      this.#space()
      if (this.#take(close)) return
      if (!this.#take(',')) throw this.#fault(`must have a comma or "${close}"`)
    }
  }

  #string(): string {
    const start = this.at++
    while (!this.#take('"')) {
      if (!(this.#text.charCodeAt(this.at) >= 0x20)) throw this.#fault('has a control character in a text')
      if (this.#take('\\')) this.#escape()
      else this.at++
    }
    return JSON.parse(this.#text.slice(start, this.at)) as string
  }

  #escape(): void {
    if (!this.#take('u')) {
      if (!ESCAPES.includes(this.#text[this.at] ?? ' ')) throw this.#fault('has an unknown escape')
      this.at++
      return
    }
    for (const end = this.at + 4; this.at < end; this.at++)
      if (!/[0-9a-fA-F]/.test(this.#text[this.at] ?? ''))
        throw this.#fault('must have four hex digits after \\u')
  }

  #word(word: string): void {
    for (const letter of word) if (!this.#take(letter)) throw this.#fault(`must have "${word}"`)
  }

  #number(): void {
    this.#take('-')
    if (!this.#take('0')) this.#digits()
    if (this.#take('.')) this.#digits()
    if (!this.#take('e') && !this.#take('E')) return
    if (!this.#take('+')) this.#take('-')
    this.#digits()
  }

  #digits(): void {
    const before = this.at
    while (isDigit(this.#text.charCodeAt(this.at))) this.at++
    if (this.at === before) throw this.#fault('must have a digit')
  }

  #space(): void {
    while (isSpace(this.#text.charCodeAt(this.at))) this.at++
  }

  #take(character: string): boolean {
    if (this.#text[this.at] !== character) return false
    this.at++
    return true
  }

  #fault(sentence: string): Fault {
    if (this.at >= this.#text.length) return new Fault('ends too early')
    return new Fault(sentence)
  }
}
