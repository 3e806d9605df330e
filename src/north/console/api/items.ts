/** Entries of the history as items of the API. */

import type { CallEntry, HistoryEntry, QuestionEntry, SummaryEntry } from '../../../core/history/entry.ts';
import { nearestNumber } from '../../../lib/exact-json.ts';
import { roughSize } from '../../../lib/rough-size.ts';
import { secretField } from '../../../lib/form/secret-fields.ts';
import type { Call, CallDetails, Question, Summary } from './schemas.ts';

/** Larger params are left out of lists. */
export const LISTED_BYTES = 65_536;

export function questionItem(entry: QuestionEntry): Question {
  const { kind: _kind, asks, ...rest } = entry;
  // Servers must not ask for secrets in a form; warn the person if one does.
  const secret = secretField(entry.params?.['requestedSchema']) !== undefined;
  return { ...rest, kind: asks, ...(secret && { secret }) };
}

/** The same in a list. */
export function listedQuestion(entry: QuestionEntry): Question {
  const item = questionItem(entry);
  if (item.params !== undefined && roughSize(item.params, LISTED_BYTES) <= LISTED_BYTES) return item;
  const { params: _params, ...rest } = item;
  return { ...rest, truncated: true };
}

export function callItem(entry: CallEntry): Call {
  const { kind: _kind, arguments: _arguments, result: _result, progress, ...rest } = entry;
  return { ...rest, ...(progress && { progress: progressItem(progress) }) };
}

export function callDetails(entry: CallEntry, questions: readonly QuestionEntry[]): CallDetails {
  const { arguments: args, result } = entry;
  return {
    ...callItem(entry),
    ...(args !== undefined && { arguments: args }),
    ...(result !== undefined && { result }),
    questions: questions.map(questionItem),
  };
}

export function listedCall(entry: CallEntry | SummaryEntry): Call | Summary {
  return entry.kind === 'call' ? callItem(entry) : entry;
}

/** An item of the event stream. */
export function eventItem(entry: HistoryEntry): { event: 'call' | 'question'; item: Call | Question | Summary } {
  if (entry.kind !== 'question') return { event: 'call', item: listedCall(entry) };
  const { params: _params, ...item } = questionItem(entry);
  return { event: 'question', item };
}

/** Progress with numbers that a browser can read. */
function progressItem({ progress, total, message }: NonNullable<CallEntry['progress']>): NonNullable<Call['progress']> {
  const whole = nearestNumber(total);
  return {
    progress: nearestNumber(progress) ?? 0,
    ...(whole !== undefined && { total: whole }),
    ...(message !== undefined && { message }),
  };
}
