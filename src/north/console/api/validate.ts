import type { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { isDeeperThan, MAX_LEVELS } from '../../../lib/depth.ts';
import { parseBody, readBody } from '../../http/body.ts';
import { ApiError } from '../api-error.ts';

/** How many mistakes an error names. */
const SHOWN_ISSUES = 3;

export function readQuery(schema: z.ZodObject | undefined, search: URLSearchParams): Record<string, unknown> {
  const given: Record<string, string> = {};
  for (const [name, value] of search) {
    if (Object.hasOwn(given, name)) throw invalidParameter(`'${name}' is given twice; give it once`);
    given[name] = value;
  }
  const known = schema ?? z.strictObject({});
  const parsed = known.safeParse(given);
  if (parsed.success) return parsed.data;
  throw invalidParameter(explain(parsed.error, `; known: ${Object.keys(known.shape).join(', ') || 'none'}`));
}

export async function readJson(schema: z.ZodType, req: IncomingMessage, limit: number): Promise<unknown> {
  if (!isJson(req.headers['content-type'])) {
    throw new ApiError(415, 'not_json', 'send the body as JSON, with "Content-Type: application/json"');
  }
  const body = await readBody(req, limit);
  if (body.kind === 'too-large') {
    throw new ApiError(413, 'too_large', `the body is larger than limits.bodyBytes = ${limit}`);
  }
  if (body.kind === 'broken') throw new ApiError(400, 'invalid_body', body.why);
  const { value, mistake } = parseBody(body.bytes);
  if (mistake !== undefined) throw new ApiError(400, 'invalid_body', `the body is not JSON: ${mistake}`);
  // Deeper values can be neither sent to a server nor stored.
  if (isDeeperThan(value, MAX_LEVELS)) {
    throw new ApiError(400, 'invalid_body', `the body is nested more than ${MAX_LEVELS} levels deep; flatten it`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ApiError(400, 'invalid_body', explain(parsed.error));
}

function invalidParameter(message: string): ApiError {
  return new ApiError(400, 'invalid_parameter', message);
}

function explain({ issues }: z.ZodError, known = ''): string {
  return issues
    .flatMap(flat)
    .slice(0, SHOWN_ISSUES)
    .map((issue) => {
      if (issue.code === 'unrecognized_keys')
        return `unknown: ${issue.keys.map((key) => `'${key}'`).join(', ')}${known}`;
      const place = issue.path.length === 0 ? 'the body' : `'${issue.path.map(String).join('.')}'`;
      return `${place}: ${issue.message.replace(/^Invalid input: /, '')}`;
    })
    .join('; ');
}

/** Picks the alternative of a union that was probably meant: the one with the fewest mistakes. */
function flat(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const [meant = []] = issue.errors.toSorted((a, b) => weight(a) - weight(b));
  return meant.flatMap((inner) => flat({ ...inner, path: [...issue.path, ...inner.path] }));
}

function weight(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? 2 : 1), 0);
}

function isJson(contentType = ''): boolean {
  return /^\s*application\/json\s*(?:;|$)/i.test(contentType);
}
