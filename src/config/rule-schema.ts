/** What the config file may say in a rule. */

import { MAX_DELAY_MS } from '../lib/clock.ts';
import * as z from '../lib/schema/kinds.ts';

const hint = (help: string) => z.boolean().optional().describe(help);

export const MAX_RULES = 1000;

export const ruleSchema = z
  .strictObject({
    server: z
      .string()
      .min(1)
      .optional()
      .describe('The server, or a pattern such as `prod-*`. `*` and `?` are wildcards.'),
    tool: z.string().min(1).optional().describe('The tool as its server names it, or a pattern such as `delete_*`.'),
    principal: z
      .string()
      .min(1)
      .optional()
      .describe('Whose client makes the call: a name from `auth.tokens`, or a pattern; `local` without `auth`.'),
    annotations: z
      .strictObject({
        readOnlyHint: hint('The tool changes nothing (by default `false`).'),
        destructiveHint: hint(
          'The tool may delete or overwrite something (by default `true`, unless it is read-only).',
        ),
        idempotentHint: hint('A second call with the same arguments changes nothing more (by default `false`).'),
        openWorldHint: hint('The tool reaches the outside world (by default `true`).'),
      })
      .optional()
      .describe('What the server says of the tool; what it leaves out has the default of the specification.'),
    args: z
      .record(
        z
          .string()
          .refine(
            (path) => path.split('.').every((step) => step !== ''),
            'expected a path such as path or items.*.name',
          ),
        z.unknown(),
      )
      .optional()
      .describe(
        'Arguments by path, such as `path`, `options.force` or `items.*.name`, and for each a value, or a pattern of a text.',
      ),
    then: z.enum(['allow', 'ask', 'deny']).describe('What happens to the call.'),
    message: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('Told to the person who is asked, or to the client whose call is refused.'),
    remember: z.boolean().optional().describe('With `ask`: offers to allow this tool for the rest of the session.'),
    approver: z
      .enum(['anyone', 'person'])
      .optional()
      .describe(
        'With `ask`: `person` does not let the tools of the hub approve, which a model uses. By default `anyone`.',
      ),
    timeoutMs: z
      .int()
      .min(1)
      .max(MAX_DELAY_MS)
      .optional()
      .describe('With `ask`: how long the question waits for an answer; by default `questions.timeoutMs`.'),
  })
  .describe(
    'A rule for calls of tools. All conditions that it names must hold; one that names none matches every call.',
  );
