import { expect, test } from 'vitest';
import { checkAccess, checkQuotas } from './access.ts';

const ABOUT = { servers: ['github', 'db-prod'], disabled: ['old'], principals: ['local', 'ada'] };
const WITH_ISSUERS = { ...ABOUT, principals: undefined };
const messages = (list: readonly { message: string }[]): string[] => list.map(({ message }) => message);

test('A-P: an access rule that an earlier rule fully covers is a mistake', () => {
  const covered = checkAccess(
    [
      { servers: ['db-*'], then: 'deny' },
      { principals: ['ada'], servers: ['db-prod'], tools: ['read'], then: 'allow' },
    ],
    ABOUT,
  );
  expect(covered.mistakes).toEqual([
    {
      path: ['meanwhile', 'access', 1],
      message: 'never decides: access[0] comes first and matches everything that this one matches',
    },
  ]);
  const free = checkAccess(
    [
      { servers: ['db-*'], tools: ['drop_*'], then: 'deny' },
      { claims: { groups: ['a', 'b'] }, then: 'allow' },
      { claims: { groups: 'c' }, then: 'allow' },
      { servers: ['db-*'], then: 'allow' },
    ],
    WITH_ISSUERS,
  );
  expect(free).toEqual({ mistakes: [], warnings: [] });
  const byClaim = [
    { claims: { groups: ['a*', 'b'] }, then: 'allow' as const },
    { claims: { groups: 'ab' }, servers: ['github'], then: 'allow' as const },
  ];
  expect(checkAccess(byClaim, WITH_ISSUERS).mistakes).toHaveLength(1);
});

test('A-P: names that match nothing are warnings, and conditions that can never hold are mistakes', () => {
  const found = checkAccess(
    [{ principals: ['aba'], servers: ['gihtub', 'old'], scopes: ['mcp:use'], then: 'allow' }],
    ABOUT,
  );
  expect(messages(found.warnings)).toEqual([
    "matches no server; did you mean 'github'? known: db-prod, github, old",
    "matches no principal; did you mean 'ada'? known: ada, local",
  ]);
  expect(messages(found.mistakes)).toEqual([
    'never holds: only access tokens of auth.issuers have scopes and claims, and there are no issuers',
  ]);
});

test('A-N: a quota override that an earlier override covers is a mistake', () => {
  const overrides = [
    { principals: ['*'], tasks: 1 },
    { principals: ['ada'], tasks: 2 },
  ];
  expect(messages(checkQuotas({ overrides }, ABOUT).mistakes)).toEqual([
    'never counts: overrides[0] comes first and matches whoever this one matches',
  ]);
});
