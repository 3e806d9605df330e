import { PNG } from '../shared/rich.ts';
import { elicit, Fault, field, INVALID_PARAMS, type Call, type Json } from './call.ts';
import { STRING } from './tool.ts';

interface Prompt {
  readonly description: string;
  readonly arguments?: readonly string[];
  run(args: Record<string, string>, call: Call): Promise<Json[]>;
}

function say(text: string): Json {
  return { type: 'text', text };
}

const PROMPTS: Record<string, Prompt> = {
  test_simple_prompt: {
    description: 'A simple prompt',
    run: async () => [say('This is a simple prompt for testing.')],
  },
  test_prompt_with_arguments: {
    description: 'A prompt with arguments',
    arguments: ['arg1', 'arg2'],
    run: async ({ arg1, arg2 }) => [say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    description: 'A prompt with a resource',
    arguments: ['resourceUri'],
    run: async ({ resourceUri: uri }) => [
      { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } },
      say('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: {
    description: 'A prompt with an image',
    run: async () => [{ type: 'image', data: PNG, mimeType: 'image/png' }, say('Please analyze the image above.')],
  },
  test_input_required_result_prompt: {
    description: 'A prompt that asks for its context',
    run: async (_args, call) => {
      const question = elicit('What context should the prompt use?', { context: STRING });
      const { user_context } = await call.ask({ user_context: question });
      return [say(`Prompt with context: ${field(user_context, 'context')}`)];
    },
  },
};

export function listPrompts(): Json[] {
  return Object.entries(PROMPTS).map(([name, { description, arguments: names = [] }]) => ({
    name,
    description,
    arguments: names.map((argument) => ({ name: argument, description: `The ${argument}`, required: true })),
  }));
}

export async function getPrompt(name: string, args: Record<string, string>, call: Call): Promise<Json> {
  const prompt = PROMPTS[name];
  if (prompt === undefined) throw new Fault(INVALID_PARAMS, `Unknown prompt: ${name}`);
  const contents = await prompt.run(args, call);
  return { description: prompt.description, messages: contents.map((content) => ({ role: 'user', content })) };
}
