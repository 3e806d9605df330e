import { describe, expect, test } from 'vitest';
import type { AuditLine } from './api-items.ts';
import { wordsOf } from './audit-words.ts';

const facts = { seq: 1, gateway: 'g', n: 1, at: 5000 };
const ann = { principal: 'ann', program: 'editor' };

describe('text for a line of the audit record', () => {
  test.each<[Partial<AuditLine>, string[]]>([
    [
      {
        kind: 'call',
        event: 'ended',
        ...ann,
        server: 'files',
        tool: 'read',
        outcome: 'failed',
        errorCode: -32_000,
        startedAt: 4000,
      },
      ['call ended', 'ann (editor)', 'files read', 'failed (-32000) after 1000 ms'],
    ],
    [
      {
        kind: 'call',
        event: 'ended',
        principal: 'ann',
        server: 'files',
        tool: 'read',
        outcome: 'completed',
        isError: true,
      },
      ['call ended', 'ann', 'files read', 'tool error'],
    ],
    [
      {
        kind: 'answer',
        event: 'given',
        ...ann,
        answeredBy: { principal: 'bob', via: 'console' },
        server: 'files',
        asks: 'sampling',
        outcome: 'completed',
      },
      ['answer given', 'bob (console)', 'files (sampling)', 'completed'],
    ],
    [
      {
        kind: 'question',
        event: 'ended',
        ...ann,
        server: 'files',
        asks: 'elicitation',
        outcome: 'rejected',
        reason: 'with\u001B[2Jdrawn',
      },
      ['question ended', 'ann (editor)', 'files', 'rejected: withdrawn'],
    ],
    [
      { kind: 'sign_in', event: 'accepted', principal: 'ann', place: 'console', method: 'launch key' },
      ['sign-in accepted', 'ann', 'at the console with a launch key', ''],
    ],
    [
      { kind: 'sign_in', event: 'refused', place: 'mcp', address: '10.0.0.9', count: 7 },
      ['sign-in refused', '10.0.0.9', 'at MCP', '7 times'],
    ],
    [
      { kind: 'server', event: 'added', ...ann, server: 'two', address: 'http://two/' },
      ['server added', 'ann (editor)', 'two', 'http://two/'],
    ],
    [{ kind: 'gap', event: 'dropped', count: 3 }, ['gap dropped', '–', '3 lines are missing', '']],
  ])('G-5: %j', (line, words) => {
    const { event, who, what, how } = wordsOf({ ...facts, ...line } as AuditLine);
    expect([event, who, what, how]).toEqual(words);
  });
});
