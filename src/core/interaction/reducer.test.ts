import { describe, expect, test } from 'vitest';
import type { Surroundings } from './attribution.ts';
import type { OpenInteraction } from './interaction.ts';
import { reduce, type Effect, type RoutedInteraction, type RouterEvent } from './reducer.ts';

const NOTHING: Surroundings = { calls: [], hosts: [], needsHost: false };

function open(more: Partial<OpenInteraction> = {}): RoutedInteraction {
  const interaction: OpenInteraction = {
    id: 'q',
    sessionId: 's',
    server: 'one',
    kind: 'elicitation',
    params: {},
    status: 'open',
    createdAt: 0,
    expiresAt: 10,
    link: { certainty: 'none' },
    audience: 'anyone',
    ...more,
  };
  return { phase: 'open', interaction, presented: false, announced: false };
}

/** The state and the effects after several events. */
function after(state: RoutedInteraction, ...events: RouterEvent[]): { state?: RoutedInteraction; effects: Effect[] } {
  let now: RoutedInteraction | undefined = state;
  const all: Effect[] = [];
  for (const event of events) {
    if (now === undefined) break;
    const { state: next, effects } = reduce(now, event);
    all.push(...effects);
    now = next;
  }
  return { ...(now && { state: now }), effects: all };
}

const types = (effects: Effect[]): string[] => effects.map(({ type }) => type);

const asked = (more: Partial<Extract<RouterEvent, { type: 'asked' }>> = {}): RouterEvent => ({
  type: 'asked',
  link: { certainty: 'none' },
  around: NOTHING,
  recentlyUsed: true,
  announce: 'always',
  ...more,
});

const ANSWER = { action: 'accept', content: {} };

describe('H-5: events about an interaction', () => {
  test('H-5: an interaction and its end are announced once', () => {
    const { effects } = after(open(), asked(), { type: 'unclaimed' }, { type: 'expired' });
    expect(effects.filter(({ type }) => type === 'announce')).toEqual([
      { type: 'announce', event: 'request' },
      { type: 'announce', event: 'expired', reason: 'not answered in time' },
    ]);
  });

  test('H-5: if only unclaimed interactions are announced, a claimed interaction is not announced', () => {
    const claimed = after(open(), asked({ announce: 'unclaimed' }), { type: 'expired' });
    expect(types(claimed.effects)).not.toContain('announce');
    const unclaimed = after(open(), asked({ announce: 'unclaimed' }), { type: 'unclaimed' });
    expect(types(unclaimed.effects)).toContain('announce');
  });

  test('H-5: roots requests are never announced', () => {
    const { effects } = after(open({ kind: 'roots' }), asked(), { type: 'unclaimed' }, { type: 'expired' });
    expect(types(effects)).not.toContain('announce');
  });

  test('H-3: a question without a call is hidden until the client uses the server', () => {
    const hidden = after(open(), asked({ recentlyUsed: false }));
    expect(hidden.state?.interaction.audience).toBe('none');
    expect(types(hidden.effects)).not.toContain('announce');
    const shown = after(open(), asked({ recentlyUsed: false }), { type: 'server_used', announce: 'always' });
    expect(shown.state?.interaction.audience).toBe('anyone');
    expect(types(shown.effects)).toEqual(['save', 'offer', 'save', 'announce', 'offer']);
  });
});

describe('H-9: the first valid answer wins', () => {
  test('H-9: an answer is delivered to the server only after it is stored', () => {
    const answered = after(open(), { type: 'answered', answer: ANSWER });
    expect(types(answered.effects)).toEqual(['release', 'drop', 'claim_answer']);
    const stored = after(open(), { type: 'answered', answer: ANSWER }, { type: 'stored' });
    expect(stored.state).toBeUndefined();
    expect(stored.effects.at(-1)).toEqual({ type: 'deliver', answer: ANSWER });
  });

  test('T-1: after an answer, another answer or a timeout changes nothing', () => {
    const first = after(open(), { type: 'answered', answer: ANSWER });
    const later: RouterEvent[] = [
      { type: 'answered', answer: { action: 'decline' } },
      { type: 'expired' },
      { type: 'refused', error: { code: 1, message: 'no' } },
      { type: 'presented' },
    ];
    expect(after(open(), { type: 'answered', answer: ANSWER }, ...later)).toEqual(first);
  });

  test('H-9: a rejection while the answer is being stored wins over the answer, with the first reason', () => {
    const { state, effects } = after(
      open({ key: 'k' }),
      { type: 'answered', answer: ANSWER },
      { type: 'rejected', reason: 'cancelled' },
      { type: 'rejected', reason: 'session ended' },
      { type: 'stored' },
    );
    expect(state).toBeUndefined();
    expect(effects.slice(-2)).toEqual([{ type: 'drop' }, { type: 'fail', reason: 'cancelled' }]);
  });

  test('P-2: an answer under a key is kept until the server has received it', () => {
    const { state, effects } = after(open({ key: 'k' }), { type: 'answered', answer: ANSWER }, { type: 'stored' });
    expect(state).toMatchObject({ phase: 'settled', interaction: { status: 'accepted', answer: ANSWER } });
    expect(types(effects)).toEqual(['release', 'save', 'claim_answer', 'deliver']);
    expect(
      after(open({ key: 'k' }), { type: 'answered', answer: ANSWER }, { type: 'stored' }, { type: 'taken' }).state,
    ).toBe(undefined);
  });

  test('P-2: a question under a key stays settled after it expires', () => {
    expect(after(open({ key: 'k' }), { type: 'expired' }).state).toMatchObject({
      phase: 'settled',
      interaction: { status: 'expired' },
    });
    expect(after(open(), { type: 'expired' }).state).toBeUndefined();
  });

  test('H-9: the error of a client that refuses reaches the server unchanged', () => {
    const error = { code: -1, message: 'User rejected sampling request' };
    expect(after(open({ kind: 'sampling' }), { type: 'refused', error }).effects.at(-1)).toEqual({
      type: 'fail',
      reason: error.message,
      error,
    });
  });

  test('H-9: a responder gets the reason of the server for withdrawing a question', () => {
    const { effects } = after(open(), { type: 'rejected', reason: 'withdrawn by the server', words: 'not needed' });
    expect(effects).toContainEqual({ type: 'release', words: 'not needed' });
  });
});

describe('H-3: calls and tasks', () => {
  const waiting = { waiting: true, detached: false, asking: false, abandoned: false } as const;

  test('H-3: the call becomes a task before the question is announced, and then its link has the task', () => {
    const around: Surroundings = { ...NOTHING, calls: [{ callId: 'a', effect: 'promote', ...waiting }] };
    const link = { certainty: 'certain', by: { callId: 'a' } } as const;
    const { state, effects } = after(open(), asked({ link, around }), {
      type: 'call_promoted',
      callId: 'a',
      taskId: 't',
    });
    expect(types(effects)).toEqual(['promote', 'save', 'announce', 'offer', 'save']);
    expect(state?.interaction.link).toEqual({ certainty: 'certain', by: { callId: 'a', taskId: 't' } });
  });

  test('H-3, H-6: when the hosting call is cancelled, the tasks that may have asked present the question again', () => {
    const calls = [
      { callId: 'a', taskId: 't' },
      { callId: 'b', taskId: 'u' },
      { callId: 'c', taskId: 'v' },
    ];
    const link = { certainty: 'possible', calls, others: false, host: { callId: 'a', taskId: 't' } } as const;
    const left = calls.slice(1).map((call) => ({ ...call, ...waiting, waiting: false, effect: 'reply' as const }));
    const end = (aborted: boolean): ReturnType<typeof after> =>
      after(
        open({ link }),
        { type: 'presented' },
        { type: 'call_ended', callId: 'a', aborted, around: { ...NOTHING, calls: left } },
      );
    expect(end(true).state).toMatchObject({ presented: false });
    expect(end(true).effects.filter(({ type }) => type === 'wake')).toEqual([
      { type: 'wake', taskId: 'u' },
      { type: 'wake', taskId: 'v' },
    ]);
    expect(end(false).state).toMatchObject({ presented: true });
    expect(types(end(false).effects)).not.toContain('wake');
  });

  test('H-3: a question left to tools promotes waiting calls and wakes tasks that may have asked it', () => {
    const around: Surroundings = {
      ...NOTHING,
      calls: [
        { callId: 'a', effect: 'promote', ...waiting },
        { callId: 'b', taskId: 't', effect: 'promote', ...waiting },
        { callId: 'other', effect: 'promote', ...waiting },
      ],
    };
    const link = {
      certainty: 'possible',
      calls: [{ callId: 'a' }, { callId: 'b', taskId: 't' }],
      others: false,
    } as const;
    const { state, effects } = after(open({ link: { ...link, calls: [...link.calls] } }), {
      type: 'left_to_tools',
      around,
    });
    expect(state?.interaction.audience).toBe('tools');
    expect(effects).toEqual([{ type: 'save' }, { type: 'promote', callId: 'a' }, { type: 'wake', taskId: 't' }]);
  });
});
