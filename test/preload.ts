import { afterAll, setDefaultTimeout } from 'bun:test'
import { endPostgres } from './postgres.ts'

// What is slow on a busy machine is not wrong; and whoever runs out of time takes the database of all others along.
setDefaultTimeout(60_000)

// Here it is once for the whole run; in a test file it would be once for each of them.
afterAll(endPostgres, 60_000)
