/** Files that are read and replaced as a whole. */

import {
  accessSync,
  chmodSync,
  constants,
  closeSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { codeOf, messageOf } from '../../lib/log.ts';
import { NotUnderstood } from './format.ts';

/** For files that may contain secrets. */
const PRIVATE = 0o600;
const PERMISSIONS = 0o777;
const ANY_WRITER = 0o222;

/** `undefined` if there is no file. Throws `NotUnderstood` if it is not text. */
export function readTextFile(file: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !isLink(file)) return undefined;
    throw new NotUnderstood(`it cannot be read: ${messageOf(error)}`);
  }
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) throw new NotUnderstood('it is not UTF-8 text');
  return text;
}

const isLink = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/**
 * Writes beside the file and renames: a reader finds the old text or the new one. A link stays a link, and the permissions
 * and the owner stay. Returns the first folder that had to be made.
 */
export function replaceFile(file: string, text: string): string | undefined {
  const target = isLink(file) ? realpathSync(file) : file;
  const madeFolder = mkdirSync(dirname(target), { recursive: true });
  const old = statSync(target, { throwIfNoEntry: false });
  if (old !== undefined) checkWritable(target, old);
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    writeNew(temporary, text, old);
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return madeFolder;
}

function writeNew(file: string, text: string, old: Stats | undefined): void {
  const fd = openSync(file, 'wx', PRIVATE);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
    const { size, uid, gid } = fstatSync(fd);
    if (size !== Buffer.byteLength(text)) throw new Error('only part of it could be written; is the disk full?');
    if (old !== undefined && (old.uid !== uid || old.gid !== gid)) fchownSync(fd, old.uid, old.gid);
  } finally {
    closeSync(fd);
  }
  // Not with `open`, whose mode the umask reduces.
  chmodSync(file, (old?.mode ?? PRIVATE) & PERMISSIONS);
}

/** A rename would replace even a read-only file, which its owner does not expect. */
function checkWritable(file: string, { mode }: Stats): void {
  if ((mode & ANY_WRITER) === 0) throw new Error(`it is read-only; chmod u+w ${file} makes it writable`);
  accessSync(file, constants.W_OK);
}

/** Removes a file, and the folders that were made for it if nothing else is in them. */
export function removeFile(file: string, madeFolder: string | undefined): void {
  checkWritable(file, statSync(file));
  rmSync(file);
  if (madeFolder === undefined) return;
  try {
    for (let folder = dirname(file); folder.startsWith(madeFolder); folder = dirname(folder)) rmdirSync(folder);
  } catch {
    // The folder is not empty.
  }
}
