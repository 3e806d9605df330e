/** A registry for npm that has what is installed here, so that tests can install packages without a network. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { ROOT } from './imports.ts';

export interface LocalRegistry {
  url: string;
  close: () => Promise<void>;
}

/** Where the versions of each package are, from the root of the project; the one that is seen from there first. */
type Places = Map<string, string[]>;

export async function localRegistry(): Promise<LocalRegistry> {
  const places = await installedPackages();
  const server = createServer((req, res) => {
    const path = decodeURIComponent(req.url ?? '/').slice(1);
    // Whoever asks for something that is not there hears so: npm goes on without what is optional.
    answer(res, path, places).catch((error: unknown) => res.writeHead(500).end(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function installedPackages(): Promise<Places> {
  const text = await readFile(join(ROOT, 'node_modules/.package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, unknown> };
  const places: Places = new Map();
  for (const place of Object.keys(packages).toSorted((a, b) => a.length - b.length)) {
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    places.set(name, [...(places.get(name) ?? []), place]);
  }
  return places;
}

async function answer(res: ServerResponse, path: string, places: Places): Promise<void> {
  if (path.startsWith('-/files/')) {
    await sendFiles(res, path.slice('-/files/'.length));
    return;
  }
  const found = places.get(path);
  if (!found) {
    res.writeHead(404).end('{}');
    return;
  }
  const host = res.req.headers.host ?? '';
  const manifests = await Promise.all(found.map((place) => manifestOf(place, host)));
  const versions = Object.fromEntries(manifests.toReversed().map((manifest) => [manifest.version, manifest]));
  const latest = manifests[0]?.version;
  res.writeHead(200, { 'content-type': 'application/json' });
  res.end(JSON.stringify({ name: path, 'dist-tags': { latest }, versions }));
}

async function manifestOf(place: string, host: string): Promise<{ version: string }> {
  const manifest = JSON.parse(await readFile(join(ROOT, place, 'package.json'), 'utf8')) as { version: string };
  return Object.assign(manifest, { dist: { tarball: `http://${host}/-/files/${place}` } });
}

async function sendFiles(res: ServerResponse, place: string): Promise<void> {
  const folder = join(ROOT, place);
  // npm takes the first part of each path away, whatever it is called.
  const args = ['-cf', '-', '--exclude', '*/node_modules', '-C', dirname(folder), basename(folder)];
  const tar = spawn('tar', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  res.writeHead(200, { 'content-type': 'application/octet-stream' });
  tar.stdout.pipe(res);
  await once(tar, 'close');
}
