import { BlockList, isIP } from 'node:net'

/** The sender of a request. */
export interface Client {
  /** The address in its canonical form. */
  readonly address: string
  /** What limits count by. One household has 2^64 IPv6 addresses, which count as one. */
  readonly network: string
  /** Whether the client runs on this machine. */
  readonly local: boolean
}

const REMEMBERED_MAX = 10_000

/** The trusted proxies, whose `X-Forwarded-For` is believed: addresses and networks, none unless configured. */
export class Proxies {
  readonly any: boolean
  readonly #trusted = new BlockList()
  readonly #clients = new Map<string, Client>()

  constructor(networks: readonly string[]) {
    this.any = networks.length > 0
    for (const network of networks) {
      const [address = '', bits] = network.split('/')
      const plain = canonicalOf(address)
      const family = familyOf(plain)
      if (bits === undefined) this.#trusted.addAddress(plain, family)
      else {
        const mapped = family === 'ipv4' && isIP(address) === 6
        this.#trusted.addSubnet(plain, Math.max(0, Number(bits) - (mapped ? 96 : 0)), family)
      }
    }
  }

  /** Returns the client: the last address in the chain that is no trusted proxy. */
  clientOf(peer: string, forwarded: string | null): Client {
    if (!this.any || forwarded === null || !this.#isTrusted(peer)) return this.#describe(peer)
    const chain = forwarded.split(',').map(withoutPort)
    const client = chain.reverse().find((address) => isIP(address) === 0 || !this.#isTrusted(address))
    return this.#describe(client !== undefined && isIP(client) !== 0 ? client : peer)
  }

  #isTrusted(address: string): boolean {
    const plain = canonicalOf(address)
    return isIP(plain) !== 0 && this.#trusted.check(plain, familyOf(plain))
  }

  /** Remembers clients, since most requests come from a recent one. */
  #describe(spelled: string): Client {
    const known = this.#clients.get(spelled)
    if (known !== undefined) return known
    const address = canonicalOf(spelled)
    const client = Object.freeze({ address, network: networkOf(address), local: isLocal(address) })
    if (this.#clients.size >= REMEMBERED_MAX) this.#clients.clear()
    this.#clients.set(spelled, client)
    return client
  }
}

/** Whether a canonical address is on this machine. */
export function isLocal(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Some proxies write a port after the address. */
function withoutPort(text: string): string {
  const [, six, four] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text.trim()) ?? []
  return six ?? four ?? text.trim()
}

/** Returns the canonical form of an address (RFC 5952). An IPv4 address inside IPv6 (`::ffff:`) becomes IPv4. */
export function canonicalOf(address: string): string {
  const [plain = ''] = address.split('%')
  if (isIP(plain) !== 6) return plain
  const groups = addressGroups(plain)
  const [high = 0, low = 0] = groups.slice(6)
  const mapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  return mapped ? [high >> 8, high & 255, low >> 8, low & 255].join('.') : addressText(groups)
}

/** Returns the eight groups of a valid IPv6 address. */
function addressGroups(address: string): number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [front = [], back = []] = hex
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))))
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
}

/** Leaves out the longest run of zeros, or the first of several. */
function addressText(groups: readonly number[]): string {
  let [from, size] = [0, 1]
  for (let at = 0; at < groups.length; at++) {
    let end = at
    while (groups[end] === 0) end++
    if (end - at > size) [from, size] = [at, end - at]
  }
  const text = groups.map((group) => group.toString(16))
  return size === 1
    ? text.join(':')
    : `${text.slice(0, from).join(':')}::${text.slice(from + size).join(':')}`
}

function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const front = addressGroups(address).slice(0, 4)
  return `${front.map((group) => group.toString(16)).join(':')}::/64`
}
