import { expect, test } from 'vitest';
import { cLibrary, loadLibsql } from './libsql.ts';

test.skipIf(process.platform !== 'linux')('S-8: the executable and the report of Node name the same C library', () => {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  expect(cLibrary()).toBe(header.glibcVersionRuntime === undefined ? 'musl' : 'glibc');
});

test('S-8: loading libsql leaves the report of Node as it is', () => {
  const getReport = Object.getOwnPropertyDescriptor(process.report, 'getReport');
  expect(getReport).toBeDefined();
  const db = new (loadLibsql())(':memory:');
  expect(db.prepare('SELECT 1 AS one').get()).toMatchObject({ one: 1 });
  db.close();
  expect(Object.getOwnPropertyDescriptor(process.report, 'getReport')).toEqual(getReport);
});
