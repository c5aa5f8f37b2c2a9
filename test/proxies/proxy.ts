import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../ports.ts'

/** A proxy as an operator runs it: the real program, with the configuration of the docs. */
export interface Balancer {
  readonly url: string
  stop(): Promise<void>
}

interface Kind {
  /** A text that identifies its block in the docs. */
  readonly mark: string
  /** Completes the block to a whole configuration, on this port, with its files in this folder. */
  configure(block: string, port: number, folder: string): string
  command(file: string, folder: string): string[]
}

export const kinds: Readonly<Record<string, Kind>> = {
  nginx: {
    mark: 'upstream takeback',
    configure: (block, port, folder) => `
      worker_processes 1; daemon off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
      events { worker_connections 512; }
      http {
        access_log off;
        client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
        uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
        ${block.replace('listen 80', `listen 127.0.0.1:${port}`)}
      }`,
    command: (file, folder) => ['nginx', '-p', folder, '-e', `${folder}/nginx.log`, '-c', file],
  },
  haproxy: {
    mark: 'backend takeback',
    configure: (block, port) => block.replace('bind :80', `bind 127.0.0.1:${port}`),
    command: (file) => ['haproxy', '-db', '-f', file],
  },
  caddy: {
    mark: 'reverse_proxy',
    configure: (block, port) =>
      `{\n  admin off\n  auto_https off\n}\n${block.replace('api.example.com', `http://:${port}`)}`,
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
}

const docs = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'instances.md'), 'utf8')

/** Returns the block as documented, except for the addresses of the instances. */
function blockOf({ mark }: Kind, instances: readonly string[]): string {
  const blocks = docs.split(/^```.*$/m).filter((_, at) => at % 2 === 1)
  const [block, ...others] = blocks.filter((one) => one.includes(mark))
  if (block === undefined || others.length > 0)
    throw new Error(`docs/instances.md has not one block with ${mark}`)
  return instances.reduce(
    (text, url, at) => text.replaceAll(`10.0.0.${11 + at}:3000`, new URL(url).host),
    block,
  )
}

export async function startProxy(
  name: string,
  instances: readonly string[],
  folder: string,
): Promise<Balancer> {
  const kind = kinds[name]
  if (kind === undefined || Bun.which(name) === null)
    throw new Error(`${name} is not installed: apt-get install nginx-light haproxy caddy`)
  const port = freePort()
  const file = join(folder, `${name}.conf`)
  writeFileSync(file, kind.configure(blockOf(kind, instances), port, folder))
  const child = Bun.spawn(kind.command(file, folder), {
    stdout: 'ignore',
    stderr: Bun.file(join(folder, `${name}.err`)),
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  })
  const url = `http://127.0.0.1:${port}`
  while (!(await isReady(url))) {
    if (child.exitCode !== null)
      throw new Error(`${name} ended: ${readFileSync(join(folder, `${name}.err`), 'utf8').slice(-1000)}`)
    await Bun.sleep(50)
  }
  return {
    url,
    async stop() {
      child.kill()
      await child.exited
    },
  }
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/api/health`, { headers: { Accept: '*/*' } }).catch(() => undefined)
  return answer?.status === 200
}
