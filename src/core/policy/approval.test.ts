import { expect, test } from 'vitest';
import { parseExact } from '../../lib/exact-json.ts';
import { requestFrom } from '../call/stored-request.ts';
import { decisionIn, approvalHash, questionAbout, readPoint, resumePoint } from './approval.ts';

const CALL = { server: 'files', tool: 'delete', args: { path: '/tmp/a', options: { force: true, depth: [1, 2] } } };

test('G-2: the approval hash ignores the order of keys and depends on everything else', () => {
  const same = { ...CALL, args: { options: { depth: [1, 2], force: true }, path: '/tmp/a' } };
  expect(approvalHash(same)).toBe(approvalHash(CALL));
  const others = [
    { ...CALL, server: 'file' },
    { ...CALL, tool: 'Delete' },
    { ...CALL, args: {} },
    { ...CALL, args: { ...CALL.args, path: '/tmp/A' } },
    { ...CALL, args: { ...CALL.args, path: ['/tmp/a'] } },
    { ...CALL, args: { ...CALL.args, more: null } },
    { ...CALL, args: { ...CALL.args, options: { force: true, depth: [2, 1] } } },
    { ...CALL, args: { ...CALL.args, options: { force: 'true', depth: [1, 2] } } },
    { server: 'files","delete', tool: '', args: CALL.args },
    { ...CALL, args: parseExact('{"id": 9007199254740993}') as Record<string, unknown> },
    { ...CALL, args: parseExact('{"id": 9007199254740992}') as Record<string, unknown> },
    { ...CALL, args: parseExact('{"__proto__": {"id": 1}}') as Record<string, unknown> },
  ];
  expect(new Set([CALL, ...others].map(approvalHash)).size).toBe(others.length + 1);
});

test('G-1: the question shows shortened arguments, and offers to remember only if the rule allows it', () => {
  const approval = { tool: 'delete', argumentsHash: 'h' };
  const { message, requestedSchema, _meta } = questionAbout(CALL, approval, { message: 'Careful.', remember: true });
  expect(message).toContain('Allow delete on files?\nCareful.\nArguments: {\n  "path": "/tmp/a"');
  expect(requestedSchema.properties.decision.enum).toEqual(['allow', 'always', 'deny']);
  expect(_meta).toEqual({
    'meanwhile/approval': {
      server: 'files',
      tool: 'delete',
      arguments: CALL.args,
      argumentsHash: 'h',
      message: 'Careful.',
    },
  });
  const long = { ...CALL, args: { text: `\u202E${'x'.repeat(10_000)}` } };
  const short = questionAbout(long, approval, {});
  expect(short.message).toContain('more characters)');
  expect(short.message).toContain('\\u202e');
  expect(short.message.length).toBeLessThan(2200);
  expect(short.requestedSchema.properties.decision.enum).toEqual(['allow', 'deny']);
});

test('G-2: only an accepted form with the decision allow or always allows a call', () => {
  expect(decisionIn({ action: 'accept', content: { decision: 'allow' } })).toBe('allow');
  expect(decisionIn({ action: 'accept', content: { decision: 'always' } })).toBe('always');
  expect(decisionIn({ action: 'accept', content: { decision: 'deny' } })).toBe('deny');
  expect(decisionIn({ action: 'accept', content: {} })).toBe('deny');
  expect(decisionIn({ action: 'accept' })).toBe('deny');
  expect(decisionIn({ action: 'decline' })).toBe('declined');
  expect(decisionIn({ action: 'cancel' })).toBe('cancelled');
});

test('G-2: the stored data of a waiting call can be read again, and malformed data is refused', () => {
  const rule = { then: 'ask', message: 'm', remember: true, timeoutMs: 5 } as const;
  const request = { ...CALL, timeoutMs: 1, bare: true, meta: { a: 1 }, more: { x: 2 } };
  const stored = JSON.parse(JSON.stringify(resumePoint('h', rule, request))) as ReturnType<typeof resumePoint>;
  expect(readPoint(stored)).toMatchObject({ argumentsHash: 'h', message: 'm', remember: true, timeoutMs: 5 });
  expect(requestFrom(readPoint(stored))).toEqual({ bare: true, meta: { a: 1 }, more: { x: 2 } });
  expect(() => readPoint({ version: 2, approval: { argumentsHash: 'h' } })).toThrow('cannot be read');
  expect(() => readPoint({ version: 1, approval: {} })).toThrow('cannot be read');
});

test('G-2: a long argument does not hide other arguments, and the message hides secrets', () => {
  const args = { note: 'x'.repeat(9000), path: '/etc/passwd', password: 'hunter2' };
  const { message, _meta } = questionAbout({ ...CALL, args }, { tool: 'delete', argumentsHash: 'h' }, {});
  expect(message).toContain('"path": "/etc/passwd"');
  expect(message).toContain('more characters');
  expect(message).not.toContain('hunter2');
  expect(JSON.stringify(_meta)).toContain('hunter2');
});
