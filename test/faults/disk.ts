import { dlopen, ptr } from 'bun:ffi'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { newFolder } from '../process/process.ts'

const MIB = 1024 * 1024
const EXT4_IOC_SHUTDOWN = 0x8004587d
const NO_LOG_FLUSH = 2

/** Runs a system command, which must succeed. */
function sh(...command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command)
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}`)
  return stdout.toString().trim()
}

/** An ext4 file system on a loop device, whose image is in memory. */
export class Disk {
  readonly #folder = newFolder()
  readonly #device: string
  /** The mount point. */
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
    // Space is allocated for every block, above all for the journal of the file system.
    sh('cp', '--sparse=never', empty, this.#image)
    this.#device = sh('losetup', '--find', '--show', this.#image)
    // The loop driver reports a partial write as a success, so each block is written alone.
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

  /** Simulates a power cut: unsynced data is lost. Nothing can be written until it is mounted again. */
  cutPower(): void {
    const { symbols } = dlopen('libc.so.6', { ioctl: { args: ['i32', 'u64', 'ptr'], returns: 'i32' } })
    const descriptor = openSync(this.path, 'r')
    const failed = symbols.ioctl(descriptor, EXT4_IOC_SHUTDOWN, ptr(new Uint32Array([NO_LOG_FLUSH])))
    closeSync(descriptor)
    if (failed !== 0) throw new Error('the file system could not be shut down')
  }

  /** Removes the space behind free blocks: writes to them fail only when the system writes them back. */
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

  /** Makes space available again. */
  heal(): void {
    rmSync(this.#filler, { force: true })
  }

  remove(): void {
    // A killed process may still be exiting.
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
