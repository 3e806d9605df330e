/** The files of the page, as the build made them. */

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { codeOf } from '../../lib/log.ts';
import { ApiError, notFound } from './api-error.ts';
import { SECURITY_HEADERS } from './respond.ts';

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

type Name = keyof typeof TYPES;

/** The page loads only its own files, and no other site may show it in a frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = { ...SECURITY_HEADERS, 'content-security-policy': POLICY, 'cache-control': 'no-cache' };

interface StaticFile {
  bytes: Buffer;
  zipped: Buffer;
  etag: string;
}

/** Read once on demand: a running program keeps the files that it started with. */
const files = new Map<Name, Promise<StaticFile>>();

export async function serveFile(req: IncomingMessage, res: ServerResponse, name: string): Promise<void> {
  if (!isName(name)) throw notFound(`the console has no file '${name}'`);
  const { bytes, zipped, etag } = await fileOf(name);
  if (req.headers['if-none-match']?.includes(etag)) {
    res.writeHead(304, { ...HEADERS, etag }).end();
    return;
  }
  const isZipped = /\bgzip\b/.test(req.headers['accept-encoding']?.toString() ?? '');
  const body = isZipped ? zipped : bytes;
  res.writeHead(200, {
    ...HEADERS,
    'content-type': TYPES[name],
    'content-length': body.length,
    vary: 'accept-encoding',
    etag,
    ...(isZipped && { 'content-encoding': 'gzip' }),
  });
  res.end(req.method === 'HEAD' ? undefined : body);
}

function isName(name: string): name is Name {
  return Object.hasOwn(TYPES, name);
}

async function fileOf(name: Name): Promise<StaticFile> {
  const known = files.get(name) ?? read(name);
  files.set(name, known);
  try {
    return await known;
  } catch (error) {
    files.delete(name);
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new ApiError(503, 'not_built', 'the files of the console are missing; install meanwhile again, or build it');
  }
}

async function read(name: Name): Promise<StaticFile> {
  const bytes = await readFile(join(packageFolder(), 'dist', 'console', name));
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { bytes, zipped: await promisify(gzip)(bytes), etag };
}

/** The folder of the package, wherever the bundle of the program lies in it. */
function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}
