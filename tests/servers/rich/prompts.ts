import { BLOCKS } from './content.ts';
import { ICONS, vendor, vendorMeta } from './vendor.ts';
import { Refusal, type Json } from './wire.ts';

export const PROMPTS: Json[] = [
  {
    name: 'everything',
    title: 'Everything',
    description: 'A message of each kind',
    icons: ICONS,
    arguments: [
      {
        name: 'city',
        title: 'City',
        description: 'Where',
        required: true,
        ...vendorMeta('argument'),
        ...vendor('argument'),
      },
      { name: 'mood', required: false },
      { name: 'rest' },
    ],
    ...vendorMeta('prompt'),
    ...vendor('prompt'),
  },
  { name: 'bare' },
  { name: 'refused', arguments: [] },
];

export function getPrompt({ name, arguments: given }: Json): Json {
  switch (name) {
    case 'everything':
      return {
        description: `With ${JSON.stringify(given)}`,
        messages: BLOCKS.map((content, index) => ({
          role: index % 2 === 0 ? 'user' : 'assistant',
          content,
          ...vendor('message'),
        })),
        ...vendorMeta('prompts/get'),
        ...vendor('prompts/get'),
      };
    case 'bare':
      return { messages: [] };
    case 'refused':
      throw new Refusal({
        code: 4713,
        message: 'no prompt today',
        data: [1, 'two', null, vendor('error of a prompt')],
      });
    default:
      throw new Refusal({ code: -32602, message: `Unknown prompt: ${String(name)}`, data: { name } });
  }
}

export function complete({ ref, argument, context }: Json): Json {
  const { value } = argument as { value: string };
  if (value === 'refused') throw new Refusal({ code: 4714, message: 'cannot complete', data: { ref, argument } });
  return {
    completion: {
      values: [`${value}-a`, `${value}-b`, JSON.stringify(ref), JSON.stringify(context ?? null)],
      total: 1000,
      hasMore: true,
      ...vendor('completion'),
    },
    ...vendorMeta('completion/complete'),
    ...vendor('completion/complete'),
  };
}
