import { describe, expect, test, vi } from 'vitest';
import { PNG } from '../../tests/servers/shared/rich.ts';
import { KEY, startModelServer, type Api, type ModelServer, type Turn } from '../../tests/support/model-server.ts';
import { TestClock } from '../../tests/support/test-clock.ts';
import { ModelRefused, type ModelReply } from '../core/ports/models.ts';
import { messageOf } from '../lib/log.ts';
import { createModels, type ModelEndpoint } from './models.ts';

const APIS: Api[] = ['openai', 'anthropic'];
const WAV = 'UklGRiQAAABXQVZF';
const MAX_BYTES = 10_000;

interface Asked extends ModelServer {
  clock: TestClock;
  ask: (params: Record<string, unknown>, signal?: AbortSignal) => Promise<ModelReply>;
}

async function model(api: Api, more: Partial<ModelEndpoint> = {}, ...turns: Turn[]): Promise<Asked> {
  const server = await startModelServer(api, { key: KEY });
  server.turns.push(...turns);
  const clock = new TestClock();
  const endpoint = { api, url: server.url, key: KEY, keyVariable: 'MY_KEY', model: 'tiny', timeoutMs: 60_000, ...more };
  const models = createModels({ endpoints: { fast: endpoint }, maxBytes: MAX_BYTES, clock });
  const signal = new AbortController().signal;
  return { ...server, clock, ask: async (params, given = signal) => models.ask('fast', params, given) };
}

const says = (text: string, role = 'user') => ({ role, content: { type: 'text', text } });
const HELLO = { messages: [says('Hi')], maxTokens: 50 };
const tool = (name: string) => ({ name, description: 'd', inputSchema: { type: 'object', properties: {} } });

describe.each(APIS)('%s', (api) => {
  test('G-4: sends a complete prompt in the format of the API', async () => {
    const { ask, requests, mistakes } = await model(api);
    const { answer, tokens } = await ask({
      messages: [says('One'), says('Two', 'assistant'), { role: 'user', content: [{ type: 'text', text: 'Three' }] }],
      systemPrompt: 'Be brief.',
      maxTokens: 50,
      temperature: 1.7,
      stopSequences: ['END'],
      includeContext: 'thisServer',
      metadata: { any: 'thing' },
      modelPreferences: { hints: [{ name: 'x' }] },
    });
    expect(mistakes).toEqual([]);
    expect(answer).toEqual({
      role: 'assistant',
      content: { type: 'text', text: 'Hello.' },
      model: 'tiny-2026',
      stopReason: 'endTurn',
    });
    expect(tokens).toBe(18);
    const [sent] = requests;
    if (api === 'openai') {
      expect(sent).toEqual({
        model: 'tiny',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'One' },
          { role: 'assistant', content: 'Two' },
          { role: 'user', content: 'Three' },
        ],
        max_tokens: 50,
        temperature: 1.7,
        stop: ['END'],
      });
    } else {
      const said = (role: string, text: string) => ({ role, content: [{ type: 'text', text }] });
      expect(sent).toEqual({
        model: 'tiny',
        messages: [said('user', 'One'), said('assistant', 'Two'), said('user', 'Three')],
        system: 'Be brief.',
        max_tokens: 50,
        temperature: 1,
        stop_sequences: ['END'],
      });
    }
  });

  test('G-4: sends images, including images in tool results', async () => {
    const { ask, requests, mistakes } = await model(api);
    const image = { type: 'image', data: PNG, mimeType: 'image/png' };
    await ask({
      ...HELLO,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] },
        { role: 'assistant', content: { type: 'tool_use', id: 'c1', name: 'look', input: { at: 1 } } },
        {
          role: 'user',
          content: { type: 'tool_result', toolUseId: 'c1', content: [{ type: 'text', text: 'A' }, image] },
        },
      ],
      tools: [tool('look')],
    });
    expect(mistakes).toEqual([]);
    expect(JSON.stringify(requests[0]).split(PNG)).toHaveLength(3);
  });

  test('G-4: sends and receives tool calls and results, with tool names that the API allows', async () => {
    const { ask, requests, mistakes, turns } = await model(api);
    turns.push({
      text: 'Let me see.',
      calls: [
        { id: 'c1', name: 'city_weather', input: { city: 'Oslo' } },
        { id: 'c2', name: 'city_weather_2', input: {} },
      ],
    });
    const tools = [tool('city.weather'), tool('city/weather'), tool('long'.repeat(20))];
    const asked = { ...HELLO, tools, toolChoice: { mode: 'required' } };
    const first = await ask(asked);
    expect(first.answer).toMatchObject({
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'c1', name: 'city.weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'c2', name: 'city/weather', input: {} },
      ],
      stopReason: 'toolUse',
    });
    const results = [
      { type: 'tool_result', toolUseId: 'c1', content: [{ type: 'text', text: '8 °C' }] },
      { type: 'tool_result', toolUseId: 'c2', content: [], structuredContent: { sky: 'grey' }, isError: true },
    ];
    const messages = [
      ...HELLO.messages,
      { role: 'assistant', content: first.answer['content'] },
      { role: 'user', content: results },
    ];
    const { answer } = await ask({ ...asked, messages, toolChoice: { mode: 'none' } });
    // Of one block alone, also servers that expect no more than one can read it.
    expect(answer['content']).toEqual({ type: 'text', text: 'Hello.' });
    expect(mistakes).toEqual([]);
    expect(requests.map(({ tool_choice }) => tool_choice)).toEqual(
      api === 'openai' ? ['required', 'none'] : [{ type: 'any' }, { type: 'none' }],
    );
    const text = JSON.stringify(requests[1]);
    expect(text).toContain('8 °C');
    expect(text).toContain('grey');
  });

  test.each([
    ['the limit of tokens', { text: 'A', stop: api === 'openai' ? 'length' : 'max_tokens' }, 'maxTokens'],
    ['another reason', { text: 'A', stop: 'tired' }, 'tired'],
  ])('G-4: maps the stop reason of the model: %s', async (_what, turn, stopReason) => {
    const { ask } = await model(api, {}, turn);
    expect((await ask(HELLO)).answer).toMatchObject({ stopReason });
  });

  test('G-4: keeps large numbers in tool arguments exact', async () => {
    const input = '{"id":12345678901234567890}';
    const { ask, texts, turns } = await model(api);
    const call = { id: 'c1', name: 'get', input: 'INPUT' };
    const raw =
      api === 'openai'
        ? {
            choices: [
              { message: { content: null, tool_calls: [{ id: 'c1', function: { name: 'get', arguments: input } }] } },
            ],
          }
        : { content: [{ type: 'tool_use', ...call }], stop_reason: 'tool_use' };
    turns.push({ raw: JSON.stringify(raw).replace('"INPUT"', input) });
    const { answer, tokens } = await ask({ ...HELLO, tools: [tool('get')] });
    // Without a count of the endpoint, all that it might have used.
    expect(tokens).toBe(50);
    const result = { type: 'tool_result', toolUseId: 'c1', content: [] };
    const messages = [
      ...HELLO.messages,
      { role: 'assistant', content: answer['content'] },
      { role: 'user', content: result },
    ];
    await ask({ ...HELLO, messages, tools: [tool('get')] });
    expect(texts[1]?.replaceAll('\\', '')).toContain(input);
  });

  test('G-4: reports a refused key with the name of its variable and without the key', async () => {
    const { ask } = await model(api, { key: 'sk-wrong-0123456789' });
    const failure: unknown = await ask(HELLO).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelRefused);
    expect(messageOf(failure)).toContain('refused the key (HTTP 401): check the variable MY_KEY');
    expect(messageOf(failure)).not.toContain('sk-');
    const without = await model(api, { key: undefined });
    await expect(without.ask(HELLO)).rejects.toThrow('requires a key (HTTP 401): set models.fast.key');
  });

  test('G-4: retries an overloaded endpoint after its Retry-After', async () => {
    const { ask, clock, count } = await model(
      api,
      {},
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 503 },
    );
    const answered = ask(HELLO);
    await vi.waitFor(() => expect(clock.armed).toBe(2));
    clock.advance(6999);
    expect(clock.armed).toBe(2);
    clock.advance(1);
    await vi.waitFor(() => expect([count(), clock.armed]).toEqual([2, 2]));
    clock.advance(2000);
    expect((await answered).answer).toMatchObject({ content: { text: 'Hello.' } });
    expect(clock.armed).toBe(0);
  });

  test.each([
    ['that stays overloaded', [{ status: 500 }, { status: 500 }, { status: 500 }], 3, 'HTTP 500: fault 500'],
    ['that sends a long Retry-After', [{ status: 429, headers: { 'retry-after': '3600' } }], 1, 'HTTP 429'],
    ['that rejects the request', [{ status: 400 }], 1, 'HTTP 400: fault 400'],
    ['that repeats the key', [{ status: 422, body: `bad ${KEY}` }], 1, 'HTTP 422: bad ***'],
    [
      'that repeats the key where the text is cut',
      [{ status: 422, body: `${'x'.repeat(290)}${KEY}` }],
      1,
      /: x{290}\*\*\*$/,
    ],
    ['that repeats the key without JSON', [{ raw: `<html>${KEY}` }], 1, /not a JSON object: <html>\*\*\*$/],
    ['that calls a tool named like the key', [{ calls: [{ id: 'c', name: KEY, input: {} }] }], 1, "the tool '***'"],
    ['that redirects', [{ status: 307, headers: { location: 'http://127.0.0.1:1/' } }], 1, 'cannot be reached'],
    ['that returns HTML', [{ raw: '<html>' }], 1, 'its response is not a JSON object: <html>'],
    ['that returns another object', [{ raw: '{}' }], 1, /no message|no content/],
    ['that returns an empty text', [{ text: '' }], 1, 'its response is empty'],
    ['that returns too much text', [{ text: 'x'.repeat(MAX_BYTES) }], 1, 'larger than limits.messageBytes'],
    ['that calls a tool it was not offered', [{ calls: [{ id: 'c', name: 'rm', input: {} }] }], 1, "the tool 'rm'"],
    [
      'that calls a tool with malformed arguments',
      [{ calls: [{ id: 'c', name: 'get', input: '[1' }] }],
      1,
      /arguments that|id or input/,
    ],
  ] satisfies [string, Turn[], number, string | RegExp][])(
    'G-4: fails for an endpoint %s',
    async (_what, turns, times, message) => {
      const { ask, clock, count } = await model(api, {}, ...turns);
      const failure = ask({ ...HELLO, tools: [tool('get')] }).catch((error: Error) => error.message);
      for (let again = 1; again < times; again += 1) {
        await vi.waitFor(() => expect([count(), clock.armed]).toEqual([again, 2]));
        clock.advance(10_000);
      }
      expect(await failure).toMatch(message);
      expect(count()).toBe(times);
      expect(clock.armed).toBe(0);
    },
  );

  test('G-4: stops waiting for an endpoint after a timeout, or when the question ends', async () => {
    const { ask, clock, count } = await model(api, {}, 'silence', 'silence');
    const late = ask(HELLO).catch((error: Error) => error.message);
    await vi.waitFor(() => expect(count()).toBe(1));
    clock.advance(60_000);
    expect(await late).toBe('no answer within 60000 ms');
    const over = new AbortController();
    const dropped = ask(HELLO, over.signal).catch((error: Error) => error.name);
    await vi.waitFor(() => expect(count()).toBe(2));
    over.abort();
    expect(await dropped).toBe('AbortError');
    expect(clock.armed).toBe(0);
  });

  test('G-4: reports an endpoint that cannot be reached', async () => {
    const gone = await model(api);
    await gone.close();
    await expect(gone.ask(HELLO)).rejects.toThrow(/^its endpoint cannot be reached: .*ECONNREFUSED/);
  });

  test.each([
    [{ messages: [] }, 'the request has no messages'],
    [{ messages: [{ role: 'tool', content: { type: 'text', text: 'x' } }] }, "the role 'tool' cannot be sent"],
    [{ messages: [{ role: 'user', content: { type: 'video' } }] }, "content of the type 'video' cannot be sent"],
    [{ messages: [{ role: 'user', content: { type: 'audio', data: WAV, mimeType: 'audio/ogg' } }] }, 'audio'],
    [{ messages: [{ role: 'user' }] }, 'a message has no content'],
  ])('G-4: refuses content that cannot be sent, without a request: %j', async (params, message) => {
    const { ask, count } = await model(api);
    const failure: unknown = await ask({ ...HELLO, ...params }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelRefused);
    expect(messageOf(failure)).toContain(message);
    expect(count()).toBe(0);
  });
});

test('G-4: audio is sent in a supported format', async () => {
  const { ask, requests, mistakes } = await model('openai');
  const content = [
    { type: 'text', text: 'Listen' },
    { type: 'audio', data: WAV, mimeType: 'audio/wav' },
  ];
  await ask({ ...HELLO, messages: [{ role: 'user', content }] });
  expect(mistakes).toEqual([]);
  expect(JSON.stringify(requests)).toContain(`"input_audio":{"data":"${WAV}","format":"wav"}`);
});

test('G-4: consecutive messages of one role are joined for Anthropic, which refuses them', async () => {
  const { ask, requests, mistakes } = await model('anthropic');
  await ask({ ...HELLO, messages: [says('One'), says(''), says('Two')] });
  expect(mistakes).toEqual([]);
  expect(requests[0]?.['messages']).toEqual([
    {
      role: 'user',
      content: [
        { type: 'text', text: 'One' },
        { type: 'text', text: 'Two' },
      ],
    },
  ]);
});

test('G-4: OpenAI itself gets max_completion_tokens and at most four stop sequences', async () => {
  const { openai } = await import('./openai.ts');
  const { readPrompt } = await import('./prompt.ts');
  const { body } = openai.exchange(readPrompt(HELLO), 'tiny', openai.url);
  expect(body).toMatchObject({ max_completion_tokens: 50 });
  expect(body).not.toHaveProperty('max_tokens');
  const { ask } = await model('openai');
  await expect(ask({ ...HELLO, stopSequences: ['a', 'b', 'c', 'd', 'e'] })).rejects.toThrow('at most 4 stop sequences');
});
