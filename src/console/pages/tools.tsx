/** The tools of a server, each of which can be tried on the spot. */

import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { clean, cleanLine } from '../../lib/clean.ts';
import { SchemaForm } from '../form/form.tsx';
import { simplify } from '../form/simplify.ts';
import { serverHref } from '../route.ts';
import { note } from '../state/announce.ts';
import { tried } from '../state/drafts.ts';
import { calls } from '../state/live.ts';
import { show } from '../state/route.ts';
import { Icon } from '../ui/icons.tsx';
import { JsonView } from '../ui/json.tsx';
import { Section } from '../ui/parts.tsx';
import { Search } from '../ui/split.tsx';
import { post } from '../wire/api.ts';
import type { Call, Server, Tool } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';
import { CallView, useCall } from './call.tsx';

const MANY = 8;

export function Tools({ server, opened }: { server: Server; opened: string | undefined }): JSX.Element | null {
  const [text, setText] = useState('');
  const { tools } = server;
  if (tools === undefined || (tools.length === 0 && server.state !== 'connected')) return null;
  const found = tools.filter(({ name, title = '', description = '' }) =>
    `${name} ${title} ${description}`.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <Section title={`Tools (${tools.length})`}>
      {tools.length > MANY && <Search value={text} label="Filter tools" onInput={setText} />}
      {tools.length === 0 && <p class="muted">The server has no tools.</p>}
      <ul class="tool-list">
        {found.map((tool) => (
          <li key={tool.name}>
            <ToolItem server={server} tool={tool} open={tool.name === opened} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function ToolItem({ server, tool, open }: { server: Server; tool: Tool; open: boolean }): JSX.Element {
  const id = `tool-${tool.name}`;
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  useEffect(() => {
    if (open) document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
  }, [open]);
  return (
    <div class={`tool ${open ? 'open' : ''}`} id={id}>
      <button
        type="button"
        class="tool-head"
        aria-expanded={open}
        onClick={() => show(serverHref(server, { tool: open ? undefined : tool.name }))}
      >
        <Icon name="next" />
        <span class="tool-name">{tool.name}</span>
        {readOnlyHint === true && <span class="tag">read-only</span>}
        {destructiveHint === true && readOnlyHint !== true && <span class="tag urgent">destructive</span>}
        <span class="light note">{!open && cleanLine(tool.description ?? tool.title ?? '')}</span>
      </button>
      {open && server.principal === undefined && <TryTool server={server.name} tool={tool} />}
      {open && server.principal !== undefined && (
        <div class="try">
          {tool.description !== undefined && <p class="message small">{clean(tool.description)}</p>}
          <JsonView value={tool.inputSchema ?? {}} label="Input schema" />
        </div>
      )}
    </div>
  );
}

function TryTool({ server, tool }: { server: string; tool: Tool }): JSX.Element {
  const key = `${server}\n${tool.name}`;
  const [callId, setCallId] = useState(tried.get(key));
  const { call, problem } = useCall(callId);
  const { form, limits } = useMemo(() => simplify(tool.inputSchema), [tool.inputSchema]);
  const run = async (args: Record<string, unknown>): Promise<undefined> => {
    try {
      const body = { tool: tool.name, arguments: args };
      const started = await post<Call>(`/api/v1/servers/${encodeURIComponent(server)}/calls`, body);
      calls.put(started);
      tried.set(key, started.id);
      setCallId(started.id);
    } catch (error) {
      note(messageOf(error), 'problem');
    }
    return undefined;
  };
  return (
    <div class="try">
      {tool.description !== undefined && <p class="message small">{clean(tool.description)}</p>}
      <SchemaForm schema={form} draftKey={key} limits={limits} onSubmit={run}>
        {(busy) => (
          <button type="submit" class="primary" disabled={busy}>
            <Icon name="play" /> {busy ? 'Starting…' : 'Run'}
          </button>
        )}
      </SchemaForm>
      {call !== undefined && (
        <div class="inline-call">
          <CallView key={call.id} call={call} problem={problem} />
        </div>
      )}
    </div>
  );
}
