import { expect, test } from 'vitest';
import { cLibrary, loadLibsql } from './libsql.ts';

test.skipIf(process.platform !== 'linux')(
  'S-8: the C library found in the executable is the one in the report of Node',
  () => {
    const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
    expect(cLibrary()).toBe(header.glibcVersionRuntime === undefined ? 'musl' : 'glibc');
  },
);

test('S-8: loading libsql does not change process.report of Node', () => {
  const getReport = Object.getOwnPropertyDescriptor(process.report, 'getReport');
  expect(getReport).toBeDefined();
  const db = new (loadLibsql())(':memory:');
  expect(db.prepare('SELECT 1 AS one').get()).toMatchObject({ one: 1 });
  db.close();
  expect(Object.getOwnPropertyDescriptor(process.report, 'getReport')).toEqual(getReport);
});
