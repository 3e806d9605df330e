/**
 * What the current test opened, released in reverse order after it; importing this file arms the hooks. A program that is no
 * test releases it itself.
 */
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';

const releases: (() => Promise<unknown>)[] = [];
let before: string[];

export function defer(release: () => Promise<unknown>): void {
  releases.push(release);
}

export function owned<T extends { close(): Promise<void> }>(resource: T): T {
  defer(() => resource.close());
  return resource;
}

export async function releaseAll(): Promise<void> {
  for (const release of releases.splice(0).toReversed()) await release();
}

function handles(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap' || kind === 'ProcessWrap');
}

if (process.env['VITEST'] !== undefined) {
  beforeAll(() => {
    before = handles();
  });
  afterEach(releaseAll);
  afterAll(async () => {
    await vi.waitFor(() => expect(handles()).toEqual(before), 10_000);
  });
}
