// The entry of the binary, which is also the entry of the processes that it starts: a reader, or the command line.
import { isReader, runAsBinary } from '../packaging.ts'
import { runReader } from '../store/reader-process.ts'

runAsBinary()
const args = process.argv.slice(2)
void (isReader(args) ? runReader(args.slice(1)) : import('./main.ts'))
