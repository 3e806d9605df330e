/** Tools that ask the client before they answer. */
import { elicit, field, LIST_ROOTS, sample, type Call, type Json, type Question } from './call.ts';
import { BOOLEAN, STRING, text, tool, type Tool } from './tool.ts';

const OPTIONS = ['option1', 'option2', 'option3'];

function titled(noun: string): Json[] {
  return ['First', 'Second', 'Third'].map((count, index) => ({
    const: `value${index + 1}`,
    title: `${count} ${noun}`,
  }));
}

const DEFAULTS: Record<string, Json> = {
  name: { type: 'string', description: 'User name', default: 'John Doe' },
  age: { type: 'integer', description: 'User age', default: 30 },
  score: { type: 'number', description: 'User score', default: 95.5 },
  status: { type: 'string', description: 'User status', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', description: 'Verification status', default: true },
};

const ENUMS: Record<string, Json> = {
  untitledSingle: { type: 'string', description: 'One', enum: OPTIONS },
  titledSingle: { type: 'string', description: 'One with a title', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    description: 'One with a name',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: OPTIONS } },
  titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled('Choice') } },
};

const CONFIRM = elicit('Please confirm', { ok: BOOLEAN });
const WHO = elicit('What is your name?', { name: STRING });

async function only(call: Call, key: string, question: Question): Promise<Json> {
  const { [key]: answer = {} } = await call.ask({ [key]: question });
  return answer;
}

function said(answer: Json): string {
  const { text: words } = (answer['content'] ?? {}) as { text?: string };
  return words ?? 'nothing';
}

function count(answer: Json | undefined): number {
  const { roots = [] } = (answer ?? {}) as { roots?: unknown[] };
  return roots.length;
}

function reply(answer: Json): Json {
  return text(`User response: ${JSON.stringify(answer)}`);
}

/** One that asks for nothing but a form. */
function asking(name: string, question: Question, key: string): Tool {
  return tool({
    name,
    description: `Asks: ${String(question.params['message'])}`,
    run: async (_args, call) => reply(await only(call, key, question)),
  });
}

export const ASKING_TOOLS: readonly Tool[] = [
  tool({
    name: 'test_sampling',
    description: 'Asks the model of the client',
    input: { prompt: STRING },
    run: async ({ prompt }, call) =>
      text(`LLM response: ${said(await only(call, 'response', sample(String(prompt))))}`),
  }),
  tool({
    name: 'test_elicitation',
    description: 'Asks the user',
    input: { message: STRING },
    run: async ({ message }, call) =>
      reply(await only(call, 'user', elicit(String(message), { username: STRING, email: STRING }))),
  }),
  asking('test_elicitation_sep1034_defaults', elicit('Please look at the defaults', DEFAULTS, []), 'form'),
  asking('test_elicitation_sep1330_enums', elicit('Please choose', ENUMS, []), 'form'),
  tool({
    name: 'test_input_required_result_elicitation',
    description: 'Asks for a name',
    run: async (_args, call) => text(`Hello, ${field(await only(call, 'user_name', WHO), 'name')}!`),
  }),
  tool({
    name: 'test_input_required_result_sampling',
    description: 'Asks the model for a capital',
    run: async (_args, call) =>
      text(said(await only(call, 'capital_question', sample('What is the capital of France?')))),
  }),
  tool({
    name: 'test_input_required_result_list_roots',
    description: 'Asks for the roots',
    run: async (_args, call) => text(`Found ${count(await only(call, 'client_roots', LIST_ROOTS))} root(s)`),
  }),
  tool({
    name: 'test_input_required_result_request_state',
    description: 'Asks to confirm',
    run: async (_args, call) => text(`state-ok: ${field(await only(call, 'confirm', CONFIRM), 'ok')}`),
  }),
  tool({
    name: 'test_input_required_result_tampered_state',
    description: 'Asks to confirm',
    run: async (_args, call) => text(`integrity-ok: ${field(await only(call, 'confirm', CONFIRM), 'ok')}`),
  }),
  tool({
    name: 'test_input_required_result_multiple_inputs',
    description: 'Asks for a name, a greeting and the roots at once',
    run: async (_args, call) => {
      const { user_name, greeting, client_roots } = await call.ask({
        user_name: WHO,
        greeting: sample('Generate a greeting'),
        client_roots: LIST_ROOTS,
      });
      return text(`${said(greeting ?? {})} ${field(user_name, 'name')}, ${count(client_roots)} root(s)`);
    },
  }),
  tool({
    name: 'test_input_required_result_multi_round',
    description: 'Asks for a name, then for a colour',
    run: async (_args, call) => {
      const name = await only(call, 'step1', elicit('Step 1: What is your name?', { name: STRING }));
      const colour = await only(call, 'step2', elicit('Step 2: What is your favorite color?', { color: STRING }));
      return text(`${field(name, 'name')} likes ${field(colour, 'color')}`);
    },
  }),
  tool({
    name: 'test_input_required_result_capabilities',
    description: 'Asks whatever the client can answer',
    run: async (_args, call) => {
      const { elicitation, sampling } = call.capabilities;
      const questions = {
        ...(elicitation !== undefined && { elicit_input: elicit('Elicitation input', { value: STRING }) }),
        ...(sampling !== undefined && { sample_input: sample('Sample request') }),
      };
      return text(`capabilities-ok: ${Object.keys(await call.ask(questions)).join()}`);
    },
  }),
  tool({
    name: 'test_streaming_elicitation',
    description: 'Reports progress, then asks for a name',
    run: async (_args, call) => {
      await call.progress(50, 100);
      return reply(await only(call, 'user_name', WHO));
    },
  }),
];
