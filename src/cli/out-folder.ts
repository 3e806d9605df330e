import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf } from '../lib/log.ts';
import { Failure } from './failure.ts';
import type { Flags } from './flags.ts';

const ENDINGS = new Map([
  ['image/jpeg', 'jpg'],
  ['image/svg+xml', 'svg'],
  ['audio/mpeg', 'mp3'],
  ['audio/x-wav', 'wav'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
  ['application/gzip', 'gz'],
  ['application/octet-stream', 'bin'],
]);

/** Saves binary content for `--out`. File names are ours: those of a server could point anywhere. */
export class OutFolder {
  readonly #folder: string;
  readonly #prefix: string;
  #count = 0;

  /** `undefined` without `--out`. */
  static from({ out }: Pick<Flags, 'out'>, prefix: string): OutFolder | undefined {
    return out === undefined ? undefined : new OutFolder(out, prefix);
  }

  constructor(folder: string, prefix: string) {
    this.#folder = folder;
    this.#prefix =
      prefix
        .replaceAll(/[^\w-]+/g, '-')
        .replaceAll(/^-+|-+$/g, '')
        .slice(0, 60) || 'data';
  }

  /** Never overwrites a file. */
  async save(base64: string, mimeType: string): Promise<string> {
    try {
      await mkdir(this.#folder, { recursive: true });
      for (;;) {
        this.#count += 1;
        const path = join(this.#folder, `${this.#prefix}-${this.#count}.${endingFor(mimeType)}`);
        if (await written(path, Buffer.from(base64, 'base64'))) return path;
      }
    } catch (error) {
      throw new Failure('unexpected', `--out ${this.#folder}: ${messageOf(error)}`, {}, { cause: error });
    }
  }
}

async function written(path: string, data: Buffer): Promise<boolean> {
  try {
    await writeFile(path, data, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function endingFor(mimeType: string): string {
  const [bare = ''] = mimeType.toLowerCase().split(';');
  const known = ENDINGS.get(bare.trim());
  if (known !== undefined) return known;
  return /^[a-z]+\/([a-z0-9]{1,8})$/.exec(bare.trim())?.[1] ?? 'bin';
}
