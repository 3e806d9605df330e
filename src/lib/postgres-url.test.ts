import { expect, it } from 'vitest';
import { withoutSecrets } from './postgres-url.ts';

it.each([
  ['postgres://ann:hunter2@db:5432/x?sslmode=require&password=hunter2', 'postgres://db:5432/x'],
  ['postgresql://ann:hun@ter2@db/x', 'postgresql://db/x'],
  ['postgres://db', 'postgres://db'],
  ['postgres://[::1]:5432/x', 'postgres://[::1]:5432/x'],
  ['postgres://ann:hunt,er2@one:5432,two:5433,three/x?sslpassword=hunter2', 'postgres://one:5432,two:5433,three/x'],
])('K-1: %s is shown as %s', (url, shown) => {
  expect(withoutSecrets(url)).toBe(shown);
});

it.each([
  'postgres://db/x?user=ann&password=hunter@2',
  'postgres://ann:hunter2@db:port/x',
  'postgres://one:5432,ann:hunter2/x',
  'postgres://ann:12,3/hunter2@db/x',
  'postgres://ann:12/hunter2@db/x',
  'postgres://ann:12?hunter2@db/x',
  'postgres://ann:12#hunter2@db/x',
  'postgres://ann:hunter2',
])('K-1: the ambiguous URL %s is hidden completely', (url) => {
  expect(withoutSecrets(url)).toBe('postgres://…');
});
