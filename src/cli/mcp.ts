import pkg from '../../package.json'
import { isRecord } from '../declare/record.ts'
import { StartError } from '../errors.ts'
import { type ListedTool, loadPackage, serverOf } from '../serve/mcp/protocol.ts'
import type { ToolResult } from '../serve/mcp/result.ts'
import type { Command } from './arguments.ts'
import { helpOption } from './options.ts'

/** The version of the protocol between this command and the server. The program on standard input may use another. */
const VERSION = '2025-11-25'

export const mcpCommand: Command = {
  name: 'mcp',
  usage: 'takeback mcp [--url URL] [--key KEY]',
  summary: 'Connects an agent on this machine to a server, over standard input and output.',
  options: {
    url: { value: 'URL', help: 'the server (TAKEBACK_URL; http://127.0.0.1:3000)' },
    key: { value: 'KEY', help: 'a key or a token for the server (TAKEBACK_KEY; none)' },
    ...helpOption,
  },
  details:
    'For programs that start their tools themselves, such as Claude Desktop. Others connect to /mcp of the server. Set TAKEBACK_KEY rather than --key: other users of a machine can see the arguments of a command.',
  async run(given) {
    if (given.words.length > 0)
      throw new StartError(`takeback mcp does not take "${given.words[0]}": use --url URL.`)
    const url = mcpAddress(given.text('url') ?? process.env.TAKEBACK_URL ?? 'http://127.0.0.1:3000')
    const send = sender(url, given.text('key') ?? process.env.TAKEBACK_KEY)
    const sdk = await loadPackage()
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
    serveStdio(
      () =>
        serverOf(sdk, {
          version: pkg.version,
          list: async () => (await send('tools/list', {})).tools as ListedTool[],
          use: async (name, given, signal) =>
            (await send('tools/call', { name, arguments: given }, signal)) as ToolResult,
        }),
      { onerror: (error) => console.error(error.message) },
    )
  },
}

function mcpAddress(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new StartError(`--url must be an address such as http://127.0.0.1:3000, not "${text}".`)
  return `${text.replace(/\/+$/, '')}/mcp`
}

type SendMessage = (method: string, params: object, signal?: AbortSignal) => Promise<Record<string, unknown>>

/** Sends one message to the server. Returns its result, or throws an error with the words of the server. */
function sender(url: string, key: string | undefined): SendMessage {
  let count = 0
  return async (method, params, signal) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'MCP-Protocol-Version': VERSION,
        ...(key !== undefined && key !== '' && { Authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++count, method, params }),
      ...(signal !== undefined && { signal }),
    }).catch((error: Error) => {
      throw new Error(`${url} cannot be reached: ${error.message}`)
    })
    const answer = messageIn(await response.text())
    if (isRecord(answer.result)) return answer.result
    const said = isRecord(answer.error) ? answer.error.message : answer.message
    throw new Error(String(said ?? `${url} answered with status ${response.status}`))
  }
}

/** Reads the message in an answer: JSON, or one event of a stream. */
function messageIn(text: string): Record<string, unknown> {
  const [, event] = /^data: (\{.*)$/m.exec(text) ?? []
  try {
    const value: unknown = JSON.parse(event ?? text)
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}
