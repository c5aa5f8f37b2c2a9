// The entry of the bundle.
import { runAsBundle } from '../packaging.ts'

runAsBundle(process.argv[1] ?? '')
void import('./main.ts')
