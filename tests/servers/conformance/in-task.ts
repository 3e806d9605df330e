import type { CreateMessageRequestParamsBase, ElicitRequestFormParams } from '@modelcontextprotocol/sdk/types.js';
import type { Work } from '../tasks/tool.ts';
import { Fault, INTERNAL_ERROR, type Call, type Json, type Question } from './call.ts';

/** A call that has become a task: its questions and its end are those of the task. */
export function inTask(call: Call, work: Work): Call {
  return {
    ...call,
    signal: work.signal,
    progress: (progress, total) => work.progress(progress, total, `${progress} of ${total}`),
    ask: (questions) => askAll(questions, (question) => ask(question, work)),
  };
}

async function ask({ method, params }: Question, work: Work): Promise<object> {
  switch (method) {
    case 'elicitation/create':
      return work.elicit(params as unknown as ElicitRequestFormParams);
    case 'sampling/createMessage':
      return work.sample(params as unknown as CreateMessageRequestParamsBase);
    case 'roots/list':
      throw new Fault(INTERNAL_ERROR, 'A task does not ask for roots');
  }
}

export async function askAll(
  questions: Record<string, Question>,
  put: (question: Question) => Promise<object>,
): Promise<Record<string, Json>> {
  const answers = Object.entries(questions).map(
    async ([key, question]) => [key, (await put(question)) as Json] as const,
  );
  return Object.fromEntries(await Promise.all(answers));
}
