import { budget } from '../budget.ts'
import { didYouMean } from '../declare/closest.ts'
import { StartError } from '../errors.ts'
import type { DeliveryState } from '../webhooks/deliveries.ts'
import type { WebhookState, Webhooks } from '../webhooks/webhooks.ts'
import type { Command } from './arguments.ts'
import { helpOption, storeOptions } from './options.ts'
import { withApp } from './past.ts'

const jsonOption = { json: { value: undefined, help: 'print JSON, for programs' } } as const

export const webhooksList: Command = {
  name: 'webhooks list',
  usage: 'takeback webhooks list [<name>] [--json]',
  summary:
    'Lists the webhooks with what waits and the last delivery; with a name, the last deliveries of one.',
  options: { ...jsonOption, ...storeOptions, ...helpOption },
  async run(given) {
    const [name, ...more] = given.words
    if (more.length > 0) throw new StartError('Name one webhook, or none: takeback webhooks list <name>.')
    const isJson = given.text('json') !== undefined
    await withApp(given, async ({ context: { webhooks } }) => {
      if (name === undefined) {
        const state = await webhooks.state()
        return console.log(isJson ? JSON.stringify(state) : shownStates(state))
      }
      known(webhooks, name)
      const deliveries = await webhooks.deliveries(name, budget.webhookDeliveries)
      const lines = deliveries.map(shownDelivery)
      console.log(isJson ? JSON.stringify(deliveries) : lines.join('\n') || 'Nothing was sent yet.')
    })
  },
}

export const webhooksResend: Command = {
  name: 'webhooks resend',
  usage: 'takeback webhooks resend <name> <operation> | <name> --aside',
  summary: 'Sends an operation to a webhook again, or all that were set aside.',
  options: {
    aside: { value: undefined, help: 'all operations that were set aside' },
    ...storeOptions,
    ...helpOption,
  },
  async run(given) {
    const [name, operation, ...more] = given.words
    const isAside = given.text('aside') !== undefined
    if (name === undefined || more.length > 0 || (operation === undefined) !== isAside)
      throw new StartError(
        'Name a webhook and an operation: takeback webhooks resend <name> <operation>; or use --aside.',
      )
    await withApp(given, async ({ context: { webhooks } }) => {
      known(webhooks, name)
      if (operation === undefined) {
        const count = await webhooks.retryAside(name)
        return console.log(`${count === 1 ? '1 operation' : `${count} operations`} will be sent again.`)
      }
      const found = await webhooks.resend(name, operation)
      if (found === undefined) throw new StartError(`There is no operation ${operation} to send to ${name}.`)
      console.log(`Operation ${found} will be sent again, after those that wait.`)
    })
  },
}

function known({ names }: Webhooks, name: string): void {
  if (names.includes(name)) return
  const list = names.length === 0 ? 'none is declared' : `there are: ${names.join(', ')}`
  throw new StartError(`There is no webhook "${name}"${didYouMean(name, names)} (${list}).`)
}

function shownStates(states: Readonly<Record<string, WebhookState>>): string {
  const lines = Object.entries(states).flatMap(([name, { to, waiting, aside, last }]) => [
    `${name}  ${to}  ${waiting} waiting, ${aside} set aside`,
    ...(last === null ? [] : [`    ${shownDelivery(last)}`]),
  ])
  return lines.join('\n') || 'No webhook is declared.'
}

function shownDelivery({ at, operation, attempt, status, error, ms }: DeliveryState): string {
  return `${at}  ${operation}  attempt ${attempt}  ${error ?? `answered ${status}`}  ${ms} ms`
}
