import { expect, test } from 'vitest';
import { programOf, type Owner } from './kind.ts';

test.each<[owner: Owner, program: string | undefined]>([
  [{ kind: 'client', client: { protocolVersion: '1', capabilities: {}, program: 'ide' } }, 'ide'],
  [{ kind: 'client', client: { protocolVersion: '1', capabilities: {} } }, undefined],
  [{ kind: 'connection' }, undefined],
  [{ kind: 'state', name: 'program=My%20IDE' }, 'My IDE'],
  [{ kind: 'state', name: 'program=100%' }, '100%'],
  [{ kind: 'state', name: 'program=' }, undefined],
  [{ kind: 'state', name: 'as=nightly' }, 'nightly'],
  [{ kind: 'state' }, undefined],
])('W-5: the owner %j belongs to the program %s', (owner, program) => {
  expect(programOf(owner)).toBe(program);
});
