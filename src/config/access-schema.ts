/** What the config file may say of access rules and quotas. */

import * as z from '../lib/schema/kinds.ts';

export const MAX_ACCESS_RULES = 1000;

/** As for all numbers of the config file. */
const MAX_COUNT = 2_147_483_647;

/** A list that names nothing would match nobody, or nothing. */
const names = (help: string) =>
  z
    .array(z.string().min(1))
    .refine((list) => list.length > 0, 'an empty list matches nothing; name something, or remove it')
    .optional()
    .describe(help);

const whom = {
  principals: names(
    'Names from `auth.tokens`, `<subject>@<issuer>`, or patterns such as `*@https://login.example.com`; `local` without `auth` and on stdio.',
  ),
  scopes: names(
    'Scopes of the access token; it must have one of them. A greater scope of `auth.scopes` contains the lesser ones.',
  ),
  claims: z
    .record(z.string().min(1), z.union([z.string().min(1), z.array(z.string().min(1))]))
    .optional()
    .describe(
      'Claims of the access token, and for each a value or a pattern, or several of which one must match. Of a list in the token, one ' +
        'item must match. `realm_access.roles` leads into an object.',
    ),
};

export const accessRuleSchema = z
  .strictObject({
    ...whom,
    servers: names('Names of servers and patterns of names, such as `db-*`; all servers by default.'),
    tools: names(
      'Patterns of the tools that the rule is about, such as `read_*`; without them it is about whole servers, with their resources and prompts.',
    ),
    then: z.enum(['allow', 'deny']).describe('Whether it may be used.'),
  })
  .describe(
    'A rule for the use of servers and tools. All conditions that it names must hold; one that names none always matches.',
  );

const count = (help: string) => z.int().min(1).max(MAX_COUNT).optional().describe(help);

const limits = {
  callsPerMinute: count(
    'How many requests to servers (calls, reads of resources, prompts, completions) begin in any minute.',
  ),
  openCalls: count('How many such requests may be open at once; those that became tasks do not count.'),
  tasks: count('How many tasks may run at once.'),
  questions: count('How many questions of servers may wait for an answer at once.'),
  sessions: count('How many sessions and states there may be at once.'),
  bytes: count('How many bytes of arguments, results, questions and events may be kept in memory.'),
};

export const quotasSchema = z
  .strictObject({
    ...limits,
    overrides: z
      .array(
        z
          .strictObject({ ...whom, ...limits })
          .describe(
            'Other quotas for some principals. The first matching entry applies; quotas that it omits keep their general value.',
          ),
      )
      .refine((list) => list.length <= MAX_ACCESS_RULES, `more than ${MAX_ACCESS_RULES} entries`)
      .default([])
      .describe(
        'Other quotas for some principals: `principals`, `scopes`, `claims` as in `access`, and quotas. The first matching entry applies.',
      ),
  })
  .describe('How much each principal may use; without a value there is no such quota.');
