import { describe, expect, test } from 'vitest';
import { challengeIn } from './challenge.ts';

const refused = (header: string | string[] | undefined, status = 401) =>
  challengeIn({ status, headers: { 'www-authenticate': header } });

describe('A-20: WWW-Authenticate challenges of servers', () => {
  test('A-20: reads the parameters of a bearer challenge', () => {
    const header =
      'Bearer realm="mcp", error="invalid_token", error_description="it, expired", ' +
      'scope="read write", resource_metadata="https://a.example/.well-known/oauth-protected-resource"';
    expect(refused(header)).toEqual({
      status: 401,
      error: 'invalid_token',
      scope: 'read write',
      resourceMetadata: 'https://a.example/.well-known/oauth-protected-resource',
    });
  });

  test('A-20: finds the bearer challenge among others, in one header or several', () => {
    const bearer = 'bearer scope=read';
    expect(refused(`Basic realm="a \\"b\\", Bearer", ${bearer}`)).toEqual({ status: 401, scope: 'read' });
    expect(refused(['Digest nonce="x", scope="no"', bearer])).toEqual({ status: 401, scope: 'read' });
    expect(refused(`${bearer}, DPoP scope="other", error="x"`)).toEqual({ status: 401, scope: 'read' });
  });

  test('A-20: treats a 401 without a challenge as a refusal, but not a 403', () => {
    expect(refused(undefined)).toEqual({ status: 401 });
    expect(refused('Basic realm="x"')).toEqual({ status: 401 });
    expect(refused(undefined, 403)).toBeUndefined();
    expect(refused('Bearer error="insufficient_scope", scope="write"', 403)).toEqual({
      status: 403,
      error: 'insufficient_scope',
      scope: 'write',
    });
    expect(refused('Bearer', 200)).toBeUndefined();
  });

  test('A-20: reads no parameters from long or malformed headers', () => {
    expect(refused(`Bearer scope="${'x'.repeat(20_000)}"`)).toEqual({ status: 401 });
    expect(refused('Bearer scope="open')).toEqual({ status: 401 });
    expect(refused('Bearer , ,, error=')).toEqual({ status: 401, error: '' });
  });
});
