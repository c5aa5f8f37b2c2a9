import { expect, test } from 'bun:test'
import { countInWords, withArticle } from './with-article.ts'

const singulars: Readonly<Record<string, string>> = {
  bookings: 'a booking',
  users: 'a user',
  units: 'a unit',
  orders: 'an order',
  invoices: 'an invoice',
  updates: 'an update',
  hours: 'an hour',
  rooms_2: 'one of rooms_2',
  order_lines: 'an order line',
  // -ies
  countries: 'a country',
  companies: 'a company',
  movies: 'a movie',
  ties: 'a tie',
  skies: 'a sky',
  series: 'one of series',
  // -es
  addresses: 'an address',
  classes: 'a class',
  boxes: 'a box',
  dishes: 'a dish',
  branches: 'a branch',
  caches: 'a cache',
  statuses: 'a status',
  aliases: 'an alias',
  houses: 'a house',
  courses: 'a course',
  expenses: 'an expense',
  sizes: 'a size',
  services: 'a service',
  // No regular plural, or one that does not reveal its singular.
  people: 'one of people',
  data: 'one of data',
  staff: 'one of staff',
  news: 'one of news',
  status: 'one of status',
  address: 'one of address',
  analysis: 'one of analysis',
  analyses: 'one of analyses',
  heroes: 'one of heroes',
  shelves: 'one of shelves',
  quizzes: 'one of quizzes',
  order_data: 'one of order_data',
  s: 'one of s',
}

test('the singular of a regular plural, with its article; other names as they are', () => {
  expect(Object.fromEntries(Object.keys(singulars).map((name) => [name, withArticle(name)]))).toEqual(
    singulars,
  )
})

test('a count with its noun', () => {
  expect([
    countInWords(12, 'bookings'),
    countInWords(1, 'bookings'),
    countInWords(1, 'orders'),
    countInWords(1, 'people'),
  ]).toEqual(['12 bookings', '1 booking', '1 order', '1 of people'])
})
