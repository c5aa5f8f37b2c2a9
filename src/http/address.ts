import { BlockList, isIP } from 'node:net'

/** Whose `X-Forwarded-For` is believed: addresses and networks, none unless configured. */
export class Proxies {
  readonly #trusted = new BlockList()
  readonly #any: boolean

  constructor(networks: readonly string[]) {
    this.#any = networks.length > 0
    for (const network of networks) {
      const [address = '', bits] = network.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#trusted.addAddress(address, family)
      else this.#trusted.addSubnet(address, Number(bits), family)
    }
  }

  /** The address of the client: the last one in the chain that is no proxy of ours. */
  clientOf(peer: string, forwarded: string | null): string {
    if (!this.#any || forwarded === null || !this.#isTrusted(peer)) return networkOf(peer)
    const chain = forwarded.split(',').map((one) => one.trim())
    const client = chain.reverse().find((address) => isIP(address) === 0 || !this.#isTrusted(address))
    return networkOf(client !== undefined && isIP(client) !== 0 ? client : peer)
  }

  #isTrusted(address: string): boolean {
    const plain = unmapped(address)
    return isIP(plain) !== 0 && this.#trusted.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')
  }
}

function unmapped(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}

/** One household has 2^64 addresses of IPv6: they count as one. */
function networkOf(address: string): string {
  const plain = unmapped(address)
  if (isIP(plain) !== 6) return plain
  const [head = '', tail = ''] = plain.split('::')
  const front = head.split(':').filter((part) => part !== '')
  const back = tail.split(':').filter((part) => part !== '')
  const whole = plain.includes('::')
    ? [...front, ...Array(8 - front.length - back.length).fill('0'), ...back]
    : front
  return `${whole.slice(0, 4).join(':')}::/64`
}
