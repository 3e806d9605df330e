/** A server without a model asks for one. A person can read the request and answer in its place. */

import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { clean, cleanLine } from '../../lib/clean.ts';
import { isObject } from '../../lib/values.ts';
import { replyDrafts } from '../state/drafts.ts';
import { Blocks } from '../ui/blocks.tsx';
import { JsonView } from '../ui/json.tsx';
import { Facts, Section } from '../ui/parts.tsx';
import type { Question } from '../../lib/api-items.ts';
import { sendAnswer } from './answer.ts';

export function SamplingForm({ question }: { question: Question }): JSX.Element {
  const { id, params = {} } = question;
  const field = useId();
  const [text, setText] = useState(replyDrafts.get(id) ?? '');
  const [model, setModel] = useState('human');
  const [mistake, setMistake] = useState<string>();
  const [busy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
    if (text.trim() === '') {
      setMistake('Write a reply first.');
      document.getElementById(field)?.focus();
      return;
    }
    setBusy(true);
    const result = {
      role: 'assistant',
      content: { type: 'text', text },
      model: model.trim() || 'human',
      stopReason: 'endTurn',
    };
    const refused = await sendAnswer(question, { result });
    setBusy(false);
    if (refused !== undefined) setMistake(Object.values(refused).join('; '));
  };
  const refuse = (): void => void sendAnswer(question, { error: { message: 'The person at the console refused.' } });
  return (
    <>
      <Request params={params} />
      <form
        class="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return;
          event.preventDefault();
          void send();
        }}
      >
        <div class={`field ${mistake === undefined ? '' : 'wrong'}`}>
          <label for={field}>Reply</label>
          <textarea
            id={field}
            rows={5}
            value={text}
            aria-invalid={mistake !== undefined}
            aria-describedby={`${field}-help${mistake === undefined ? '' : ` ${field}-mistake`}`}
            onInput={({ currentTarget: { value } }) => {
              replyDrafts.set(id, value);
              setText(value);
              setMistake(undefined);
            }}
          />
          <p class="help" id={`${field}-help`}>
            The server uses it as the model’s reply.
          </p>
          {mistake !== undefined && (
            <p class="mistake" id={`${field}-mistake`}>
              {mistake}
            </p>
          )}
        </div>
        <div class="field short">
          <label for={`${field}-model`}>Written by</label>
          <input
            id={`${field}-model`}
            value={model}
            autocomplete="off"
            aria-describedby={`${field}-model-help`}
            onInput={({ currentTarget }) => setModel(currentTarget.value)}
          />
          <p class="help" id={`${field}-model-help`}>
            The name of the model if you copied its reply.
          </p>
        </div>
        <div class="actions">
          <button type="submit" class="primary" disabled={busy}>
            {busy ? 'Sending…' : 'Send reply'}
          </button>
          <button type="button" disabled={busy} onClick={refuse} title="Reply with an error">
            Refuse
          </button>
        </div>
      </form>
    </>
  );
}

export function Request({ params }: { params: Record<string, unknown> }): JSX.Element {
  const { messages, systemPrompt, maxTokens, temperature, stopSequences, modelPreferences, tools, toolChoice } = params;
  const hints = isObject(modelPreferences) && Array.isArray(modelPreferences['hints']) ? modelPreferences['hints'] : [];
  const wanted = hints.map((hint) => (isObject(hint) ? cleanLine(hint['name']) : '')).filter(Boolean);
  return (
    <div class="request">
      {typeof systemPrompt === 'string' && (
        <div class="turn system">
          <span class="role">System</span>
          <p class="message">{clean(systemPrompt)}</p>
        </div>
      )}
      {(Array.isArray(messages) ? messages : []).map((message: unknown, index) => {
        const { role, content } = isObject(message) ? message : { role: '?', content: message };
        return (
          <div key={index} class={`turn ${role === 'assistant' ? 'assistant' : 'user'}`}>
            <span class="role">{role === 'assistant' ? 'Assistant' : 'User'}</span>
            <Blocks content={content} label={`Message ${index + 1}`} />
          </div>
        );
      })}
      <Facts
        items={[
          ['Max. tokens', typeof maxTokens === 'number' ? maxTokens.toLocaleString() : undefined],
          ['Models', wanted.length === 0 ? undefined : wanted.join(', ')],
          ['Temperature', typeof temperature === 'number' ? String(temperature) : undefined],
          [
            'Stop at',
            Array.isArray(stopSequences) ? stopSequences.map((each) => JSON.stringify(each)).join(', ') : undefined,
          ],
        ]}
      />
      {Array.isArray(tools) && tools.length > 0 && (
        <Section title="Tools for the model">
          <JsonView value={{ tools, toolChoice }} label="Tools" />
        </Section>
      )}
    </div>
  );
}
