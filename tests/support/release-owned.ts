/** Runs for each test file: after each test what it opened is released, and after all of them nothing is left. */
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest';
import { releaseAll } from './owned.ts';

let before: string[];

beforeAll(() => {
  before = handles();
});
afterEach(releaseAll);
afterAll(async () => {
  await vi.waitFor(() => expect(handles()).toEqual(before), 10_000);
});

function handles(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap' || kind === 'ProcessWrap');
}
