// The entry of the binary. Its processes are started as this same file: a reader of a database, or the command line.
import { runAsBinary } from '../binary.ts'
import { isReader, runReader } from '../store/reader-process.ts'

runAsBinary()
const args = process.argv.slice(2)
void (isReader(args) ? runReader(args) : import('./main.ts'))
