import { dlopen, ptr } from 'bun:ffi'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { newFolder } from '../process/process.ts'

const MIB = 1024 * 1024
const EXT4_IOC_SHUTDOWN = 0x8004587d
const NO_LOG_FLUSH = 2

/** Runs a command of the system, which must succeed. */
function sh(...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  return stdout.toString().trim()
}

/** An ext4 file system of its own, on a loop device, whose image lies in memory. */
export class Disk {
  readonly #folder = newFolder()
  readonly #device: string
  /** Where it is mounted. */
  readonly path = join(this.#folder, 'mounted')

  constructor() {
    mkdirSync(this.path)
    mkdirSync(this.#store)
    sh('mount', '-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', this.#store)
    const empty = join(this.#folder, 'empty')
    sh('truncate', '--size', '64M', empty)
    sh(
      'mkfs.ext4',
      '-q',
      '-F',
      '-b',
      '4096',
      '-E',
      'lazy_itable_init=0,lazy_journal_init=0',
      '-J',
      'size=4',
      empty,
    )
    // Every block has its space, the journal of the file system above all.
    sh('cp', '--sparse=never', empty, this.#image)
    this.#device = sh('losetup', '--find', '--show', this.#image)
    // The loop driver takes a write that it could do in part for one that succeeded: each block by itself.
    writeFileSync(`/sys/block/${basename(this.#device)}/queue/max_sectors_kb`, '4')
    this.mount()
  }

  get #store(): string {
    return join(this.#folder, 'store')
  }

  get #image(): string {
    return join(this.#store, 'image')
  }

  get #filler(): string {
    return join(this.#store, 'filler')
  }

  mount(): void {
    sh('mount', '-o', 'nodiscard', this.#device, this.path)
  }

  unmount(): void {
    for (let tries = 0; tries < 50 && Bun.spawnSync(['umount', this.path]).exitCode !== 0; tries++)
      Bun.sleepSync(100)
  }

  /** As if the power were gone at once: what was not synced is lost. Nothing can be written until it is mounted again. */
  cutPower(): void {
    const { symbols } = dlopen('libc.so.6', { ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' } })
    const descriptor = openSync(this.path, 'r')
    const failed = symbols.ioctl(descriptor, EXT4_IOC_SHUTDOWN, ptr(new Uint32Array([NO_LOG_FLUSH])))
    closeSync(descriptor)
    if (failed !== 0) throw new Error('the file system could not be shut down')
  }

  /** Takes away the space behind blocks that are free: writes to them fail when the system gets to them, not before. */
  failNewBlocks(): void {
    sh('sync', '-f', this.path)
    const block = Number(/Block size:\s+(\d+)/.exec(sh('dumpe2fs', '-h', this.#device))?.[1])
    for (const [, ranges = ''] of sh('dumpe2fs', this.#device).matchAll(/^ {2}Free blocks: (.*)$/gm))
      for (const range of ranges.split(', ').filter((one) => one !== '')) {
        const [first = 0, last = first] = range.split('-').map(Number)
        const [offset, length] = [first * block, (last - first + 1) * block]
        sh('fallocate', '--punch-hole', '--offset', String(offset), '--length', String(length), this.#image)
      }
    this.#fill()
  }

  /** There is space again. */
  heal(): void {
    rmSync(this.#filler, { force: true })
  }

  remove(): void {
    // Whoever was killed may still be on its way out.
    for (const command of [
      ['umount', this.path],
      ['losetup', '--detach', this.#device],
      ['umount', this.#store],
    ])
      for (let tries = 0; tries < 50 && Bun.spawnSync(command).exitCode !== 0; tries++) Bun.sleepSync(100)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #fill(): void {
    const { bfree, bsize } = statfsSync(this.#store)
    writeFileSync(this.#filler, new Uint8Array(Math.min(bfree * bsize, 512 * MIB)))
    if (readFileSync(this.#filler).length === 0) throw new Error('nothing was filled')
  }
}
