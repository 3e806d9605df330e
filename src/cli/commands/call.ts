import { TaskClientError } from '../../client/task-client-error.ts';
import type { CallToolResult, Tool } from '../../client/types.ts';
import { WEBHOOK_META } from '../../lib/meta.ts';
import { messageOf } from '../../lib/log.ts';
import { parseArguments, readArguments, type GivenArgument } from '../arguments/given.ts';
import { toolArguments } from '../arguments/tool-arguments.ts';
import { toolUsage } from '../arguments/usage.ts';
import { notListed } from '../did-you-mean.ts';
import { Failure, RESULT, TOOL_ERROR, type FailureCode } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { followCall } from '../follow-call.ts';
import { OutFolder } from '../out-folder.ts';
import { PreparedAnswers } from '../questions/prepared.ts';
import { linksUnvisited, requiredLinks, visitLinks } from '../questions/required-links.ts';
import { quoteWord } from '../server/shell-words.ts';
import { showResult } from '../terminal/blocks.ts';
import { unquoted } from '../unknown-option.ts';
import { listTools, withServer, type ServerSession } from '../server/session.ts';

export async function call(line: CommandLine): Promise<number> {
  const { operands, flags } = line;
  const [server, name, ...rest] = operands;
  if (server === undefined || name === undefined) {
    throw new UsageError('expected meanwhile call <server> <tool> [key=value …]');
  }
  // Report mistakes on the command line before starting a server.
  checkForm(operands);
  const given = parseArguments(rest);
  const base = flags.args === undefined ? {} : await readArguments(flags.args, process.stdin);
  const answers = new PreparedAnswers(flags.answer);
  return withServer(line, server, async (session) => {
    const args = await argumentsFor(session, name, given, base);
    const meta = flags.webhook === undefined ? undefined : { [WEBHOOK_META]: flags.webhook };
    return showOutcome(session, name, answers, run(session, name, { args, meta }, answers));
  });
}

/** Explains two common mistakes. */
function checkForm(operands: readonly string[]): void {
  const rest = operands.slice(2);
  const object = rest.find((word) => word.trimStart().startsWith('{'));
  if (object !== undefined) throw new UsageError(`give a JSON object with --args: --args ${quoteWord(object)}`);
  const bare = rest.find((word) => !word.includes('='));
  const hint = bare === undefined ? undefined : unquoted(['call', ...operands], 'call');
  if (hint !== undefined) throw new UsageError(`expected key=value, got '${bare}'${hint}`);
}

/** Calls again after the person visited the web pages that the server requires. */
async function run(
  session: ServerSession,
  name: string,
  { args, meta }: { args: Record<string, unknown>; meta: Record<string, unknown> | undefined },
  answers: PreparedAnswers,
): Promise<CallToolResult> {
  for (;;) {
    try {
      return await followCall(session, {
        label: name,
        start: (signal) => session.client.callToolStream(name, args, meta, undefined, { signal }),
        answers,
      });
    } catch (error) {
      const links = requiredLinks(error);
      if (links.length === 0) throw error;
      if (!session.screen.attended) throw linksUnvisited(session, links);
      if (!(await visitLinks(session, links))) throw error;
    }
  }
}

async function argumentsFor(
  session: ServerSession,
  name: string,
  given: readonly GivenArgument[],
  base: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const tool = await findTool(session, name);
  const inputSchema = typeof tool?.inputSchema === 'object' ? tool.inputSchema : {};
  const found = toolArguments(inputSchema, given, base);
  if ('args' in found) return found.args;
  throw new UsageError([...found.mistakes, '', toolUsage(session.label, { name, inputSchema })].join('\n'));
}

/** `undefined` if the server cannot list its tools; it then validates the call itself. */
async function findTool(session: ServerSession, name: string): Promise<Tool | undefined> {
  const { screen, stop, label } = session;
  const tools = await listTools(session).catch((error: unknown) => {
    stop.signal.throwIfAborted();
    screen.note(`the tools of ${label} cannot be listed (${messageOf(error)}); calling '${name}' without its schema`);
    return undefined;
  });
  const tool = tools?.find((each) => each.name === name);
  if (tools !== undefined && tool === undefined) throw new UsageError(notListed(label, 'tool', name, tools));
  return tool;
}

/**
 * Prints the result of a tool. There are separate exit codes for a tool error and for a call with unanswered
 * questions.
 */
export async function showOutcome(
  { screen, flags }: ServerSession,
  name: string,
  answers: PreparedAnswers,
  outcome: Promise<CallToolResult>,
): Promise<number> {
  const result = await outcome.catch((error: unknown) => {
    throw (error instanceof TaskClientError && answersMissing(answers, { error: error.message })) || error;
  });
  if (answers.unused !== undefined) screen.note(`meanwhile: ${answers.unused}`);
  const out = OutFolder.from(flags, name);
  const text = await showResult(result, out);
  const missing = answersMissing(answers, { result });
  // With --json there is exactly one document: the error, which contains the result.
  if (!screen.json && text !== '') screen.print(text);
  if (missing !== undefined) throw missing;
  if (screen.json) screen.printJson(result);
  if (result.isError !== true) return RESULT;
  screen.note('meanwhile: the tool reported an error');
  return TOOL_ERROR;
}

const UNANSWERED = 'use --answer, or call the tool from a terminal';

/** A call fails if a prepared answer was invalid or a question was left unanswered. */
function answersMissing(
  { misfits, unanswered }: PreparedAnswers,
  { error, result }: { error?: string; result?: CallToolResult },
): Failure | undefined {
  const failure = (code: FailureCode, lines: readonly string[]): Failure =>
    new Failure(code, [...lines, ...(error === undefined ? [] : [error])].join('\n'), {
      ...(result !== undefined && { result }),
    });
  if (misfits.length > 0) return failure('usage', misfits);
  if (unanswered === 0) return undefined;
  const what = unanswered === 1 ? 'a question was' : `${unanswered} questions were`;
  return failure('unanswered', [`${what} left unanswered: ${UNANSWERED}`]);
}
