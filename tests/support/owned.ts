/** What the current test opened. `release-owned.ts` releases it in reverse order; a program that is no test does so itself. */

const releases: (() => Promise<unknown>)[] = [];

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
