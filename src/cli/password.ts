import { StartError } from '../errors.ts'

/** Reads the first line of a pipe. On a terminal the password is typed twice, without echo. */
export async function askPassword(): Promise<string> {
  if (!process.stdin.isTTY) return firstLine(await Bun.stdin.text())
  const password = await askHidden('Password: ')
  if ((await askHidden('Once more: ')) !== password)
    throw new StartError('The two passwords differ. Nothing was added.')
  return password
}

function firstLine(text: string): string {
  const line = text.split(/\r?\n/)[0] ?? ''
  if (line === '') throw new StartError('No password was given: use --password, a pipe or a terminal.')
  return line
}

function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process
  stderr.write(question)
  stdin.setRawMode(true)
  stdin.resume()
  stdin.setEncoding('utf8')
  return new Promise((resolve, reject) => {
    let text = ''
    const end = (finish: () => void) => {
      stdin.off('data', read)
      stdin.setRawMode(false)
      stdin.pause()
      stderr.write('\n')
      finish()
    }
    const read = (chunk: string) => {
      for (const key of chunk) {
        if (key === '\r' || key === '\n') return end(() => resolve(text))
        if (key === '\u0003' || key === '\u0004')
          return end(() => reject(new StartError('Cancelled. Nothing was added.')))
        if (key === '\u007f' || key === '\b') text = [...text].slice(0, -1).join('')
        else text += key
      }
    }
    stdin.on('data', read)
  })
}
