/** Questions of a request of the 2026-07-28 protocol: it is answered with them, and sent again with the answers. */
import {
  createRequestStateCodec,
  MissingRequiredClientCapabilityError,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { randomBytes } from 'node:crypto';
import { Fault, INVALID_PARAMS, type Call, type Json, type Question } from './call.ts';

type Answers = Record<string, Json>;

/** The answers of the rounds before, which the client carries. */
const requestState = createRequestStateCodec<Answers[]>({ key: randomBytes(32) });

/** Thrown to end a round. */
export class Unanswered extends Error {
  readonly questions: Record<string, Question>;
  readonly before: Answers[];

  constructor(questions: Record<string, Question>, before: Answers[]) {
    super('unanswered');
    this.questions = questions;
    this.before = before;
  }

  async result(): Promise<Json> {
    const state = await requestState.mint(this.before);
    return { resultType: 'input_required', inputRequests: this.questions, requestState: state };
  }
}

const CAPABILITY: Record<Question['method'], string> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};

/** Lets a request run from its beginning, with the answers that there are. */
export async function roundsOf(context: ServerContext, capabilities: Json): Promise<Call['ask']> {
  const { mcpReq } = context;
  const before = await earlierRounds(context);
  const given = (mcpReq.inputResponses ?? {}) as Answers;
  const known: Answers[] = [...before];
  let round = 0;
  return async (questions) => {
    for (const { method } of Object.values(questions)) requireCapability(capabilities, CAPABILITY[method]);
    const index = round;
    round += 1;
    const answers = index === before.length ? pick(given, questions) : known[index];
    if (answers === undefined) throw new Unanswered(questions, known);
    known[index] = answers;
    return answers;
  };
}

async function earlierRounds(context: ServerContext): Promise<Answers[]> {
  const state = context.mcpReq.requestState<string>();
  if (state === undefined) return [];
  try {
    return await requestState.verify(state, context);
  } catch (error) {
    throw new Fault(INVALID_PARAMS, `Invalid request state: ${String(error)}`);
  }
}

/** The answers, if none is missing. */
function pick(given: Answers, questions: Record<string, Question>): Answers | undefined {
  const keys = Object.keys(questions);
  if (keys.some((key) => given[key] === undefined)) return undefined;
  return Object.fromEntries(keys.map((key) => [key, given[key] ?? {}]));
}

function requireCapability(capabilities: Json, name: string): void {
  if (capabilities[name] === undefined)
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { [name]: {} } });
}
