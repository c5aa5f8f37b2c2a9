import { afterAll } from 'bun:test'
import { endPostgres } from './postgres.ts'

// Here it is once for the whole run; in a test file it would be once for each of them.
afterAll(endPostgres, 60_000)
