/** Plurals in `-s` whose singular the rules below would get wrong. */
const IRREGULAR: Readonly<Record<string, string>> = { movies: 'movie', cookies: 'cookie', caches: 'cache' }

/** Words in `-s` that are not plurals, and endings that do not reveal the singular. */
const UNKNOWN =
  /^(?:series|species|news|means|canvas|atlas|analytics|statistics|logistics|.?s)$|(?:ss|us|is|oes|ves|yses|zzes)$/

/** Words that start with a vowel sound: `an hour`, but `a user`. */
const VOWEL = /^(?:a|e(?!u)|i|o(?!ne$)|u(?!ni|se|sa|ti|rl)|hour|hono)/

/** One Entity of a type in words: `a booking` for `bookings`, but `one of people` if the singular is unknown. */
export function withArticle(type: string): string {
  const words = type.split('_')
  const one = singularOf(words.pop() ?? '')
  if (one === undefined) return `one of ${type}`
  const name = [...words, one].join(' ')
  return `${VOWEL.test(name) ? 'an' : 'a'} ${name}`
}

/** `12 bookings`, `1 booking`, `1 of people`. */
export function countInWords(count: number, type: string): string {
  return count === 1 ? withArticle(type).replace(/^(?:an?|one) /, '1 ') : `${count} ${type}`
}

function singularOf(word: string): string | undefined {
  if (!word.endsWith('s') || UNKNOWN.test(word)) return undefined
  if (IRREGULAR[word] !== undefined) return IRREGULAR[word]
  if (/.[^aeiou]ies$/.test(word)) return word.replace(/ies$/, 'y')
  return /(?:ss|x|sh|ch|[^ao]us|ias)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1)
}
