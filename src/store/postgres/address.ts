import { StartError } from '../../errors.ts'
import { hidePassword } from '../location.ts'

/** The address of a database: a URL for each host, in the order in which they are named. */
export interface Address {
  readonly hosts: readonly string[]
  /** Whether only a host that takes writes is acceptable. */
  readonly writable: boolean
}

const ATTRIBUTES = 'target_session_attrs'
/** The values that require the one host that takes writes. */
const WRITABLE = ['read-write', 'primary']

/**
 * Parses `postgres://user:password@host1:5432,host2:5432/name?target_session_attrs=read-write`, as libpq does. With
 * several hosts, only one that takes writes is acceptable, whether the address says so or not.
 */
export function parseAddress(url: string, flag = '--database'): Address {
  const [, scheme = '', authority = '', rest = ''] = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? []
  const at = authority.lastIndexOf('@') + 1
  const names = authority.slice(at).split(',')
  const refuse = (fault: string): never => {
    throw new StartError(`${flag} ${fault}, in "${hidePassword(url)}".`)
  }
  for (const [place, name] of names.entries()) {
    const fault = names.length > 1 ? faultOfHost(name, names.slice(0, place)) : undefined
    if (fault !== undefined) refuse(fault)
  }
  const hosts = names.map((name) => scheme + authority.slice(0, at) + name + rest)
  if (!hosts.every((host) => URL.canParse(host)))
    return refuse('must be an address such as postgres://user:password@host/name')
  const parameters = new URL(hosts[0] ?? url).searchParams
  for (const name of ['host', 'port', 'hostaddr'])
    if (parameters.get(name)?.includes(','))
      refuse(
        `names several hosts in ?${name}=: write them before the name of the database, as host1:5432,host2:5432`,
      )
  const wanted = parameters.get(ATTRIBUTES)
  if (wanted !== null && !WRITABLE.includes(wanted))
    refuse(`has ${ATTRIBUTES}=${wanted}: a server writes, so it must be ${WRITABLE.join(' or ')}`)
  if (![null, 'disable'].includes(parameters.get('load_balance_hosts')))
    refuse('has load_balance_hosts: only one host takes writes, so there is nothing to balance')
  return { hosts, writable: hosts.length > 1 || wanted !== null }
}

function faultOfHost(name: string, before: readonly string[]): string | undefined {
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(name) ?? []
  if (host === '' || host === '[]') return 'names a host that is empty'
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
    return `must name a port from 1 to 65535 after ${host}, not "${port}"`
  return before.includes(name) ? `names ${name} twice` : undefined
}
