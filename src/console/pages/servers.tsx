/** The servers behind the gateway: their state, and what they can do. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { clean, cleanLine } from '../../lib/clean.ts';
import { clock, duration, plural } from '../format.ts';
import { hrefOf, serverHref } from '../route.ts';
import { note } from '../state/announce.ts';
import { useWatched } from '../state/collection.ts';
import { epoch, problem, readServers, servers } from '../state/live.ts';
import { byName, findServerByName } from '../state/server-names.ts';
import { serverKey } from '../../lib/server-key.ts';
import { go, route } from '../state/route.ts';
import { List } from '../ui/list.tsx';
import { Split } from '../ui/split.tsx';
import { Avatar, Command, Empty, Facts, Notice, Pill, Remaining, Section } from '../ui/parts.tsx';
import { get, post } from '../wire/api.ts';
import type { LogLine, Server } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';
import { AccountActions } from './account-actions.tsx';
import { DemoHint } from './demo-hint.tsx';
import { ProblemNotice, Unread } from './problem-notice.tsx';
import { Tools } from './tools.tsx';
import { SERVER_STATE } from './words.ts';

export function Servers(): JSX.Element {
  useWatched(servers, route, problem, epoch);
  useEffect(() => void readServers(), []);
  const { id, filters } = route.get();
  const all = servers.all().toSorted(byName);
  const { server, problem: unread } = useServer(id, filters['principal']);
  return (
    <Split
      title="Servers"
      backHref={hrefOf('servers')}
      detailId={id}
      aside={all.length > 0 && <span class="muted">{all.length}</span>}
      list={
        problem.get() !== undefined && all.length === 0 ? (
          <ProblemNotice />
        ) : all.length === 0 ? (
          <Empty icon="servers" title="No servers yet">
            <p>Add servers to the config file, or import the servers of your clients:</p>
            <p>
              <Command text="meanwhile import" />
            </p>
            <DemoHint />
          </Empty>
        ) : (
          <List
            label="Servers"
            items={all}
            keyOf={serverKey}
            hrefOf={(each) => serverHref(each)}
            selected={server && serverKey(server)}
            render={(each) => <ServerRow server={each} />}
          />
        )
      }
      detail={
        server !== undefined ? (
          <ServerView key={serverKey(server)} server={server} tool={filters['tool']} problem={unread} />
        ) : unread !== undefined ? (
          <Empty icon="question" title="Server not found">
            <p>{unread}</p>
          </Empty>
        ) : undefined
      }
    />
  );
}

function useServer(
  name: string | undefined,
  principal: string | undefined,
): { server: Server | undefined; problem: string | undefined } {
  const [problem, setProblem] = useState<string>();
  const server = name === undefined ? undefined : findServerByName(servers, name, principal);
  useEffect(() => {
    if (name === undefined) return;
    const read = async (): Promise<void> => {
      try {
        servers.put(await get<Server>(`/api/v1/servers/${encodeURIComponent(name)}`, { principal }));
        setProblem(undefined);
      } catch (error) {
        setProblem(messageOf(error));
      }
    };
    void read();
  }, [name, principal, server?.state, epoch.get()]);
  return { server, problem };
}

function ServerRow({ server }: { server: Server }): JSX.Element {
  const state = SERVER_STATE[server.state];
  return (
    <>
      <Avatar name={server.name} />
      <span class="row-main">
        <span class="row-top">
          <span class="row-from">
            {server.name}
            {server.principal !== undefined && <span class="light"> of {server.principal}</span>}
          </span>
          <Pill tone={state.tone}>{state.text}</Pill>
        </span>
        <span class="row-text light">
          {server.error === undefined ? cleanLine(server.address) : cleanLine(server.error)}
        </span>
      </span>
    </>
  );
}

function ServerView({
  server,
  tool,
  problem,
}: {
  server: Server;
  tool: string | undefined;
  problem: string | undefined;
}): JSX.Element {
  const state = SERVER_STATE[server.state];
  const { implementation, capabilities = {}, calls } = server;
  const about = [implementation?.title ?? implementation?.name, implementation?.version].filter(Boolean).join(' ');
  return (
    <article class="server">
      <header class="item-head">
        <Avatar name={server.name} />
        <div>
          <h2 tabIndex={-1}>{server.name}</h2>
          <p class="muted">{cleanLine(about) || server.transport}</p>
        </div>
        <Pill tone={state.tone}>{state.text}</Pill>
      </header>
      <Unread problem={problem} />
      {server.error !== undefined && (
        <Notice tone="bad">
          <p class="message">{clean(server.error)}</p>
          {server.fix !== undefined && (
            <p>
              <strong>Suggested fix:</strong> {clean(server.fix)}
            </p>
          )}
          {server.retryAt !== undefined && server.retryAt > Date.now() && (
            <p class="muted">
              The gateway will reconnect: <Remaining until={server.retryAt} />.
            </p>
          )}
        </Notice>
      )}
      {server.principal === undefined ? (
        (server.state !== 'connected' || server.tools === undefined) && <Connect server={server} />
      ) : (
        <Notice tone="info">
          A client of {server.principal} added this server. Only {server.principal} can connect to it and run its tools.
        </Notice>
      )}
      {server.principal === undefined && server.transport === 'http' && <AccountActions server={server} />}
      <Tools server={server} opened={tool} />
      {typeof server.instructions === 'string' && server.instructions !== '' && (
        <Section title="Instructions">
          <p class="message small">{clean(server.instructions)}</p>
        </Section>
      )}
      <Section title="About">
        <Facts
          items={[
            ['Address', <code>{cleanLine(server.address)}</code>],
            ['Protocol', [server.protocolVersion, server.era].filter(Boolean).join(' · ')],
            ['Tasks', server.tasks],
            ['Latency', server.latencyMs === undefined ? undefined : duration(server.latencyMs)],
            [
              'Last hour',
              calls === undefined ? undefined : `${plural(calls.lastHour, 'call')}, ${plural(calls.errors, 'error')}`,
            ],
            ['Used by', server.sessions === undefined ? undefined : plural(server.sessions, 'session')],
            ['Added by', server.principal === undefined ? server.addedBy : `${server.addedBy} of ${server.principal}`],
          ]}
        />
        {Object.keys(capabilities).length > 0 && (
          <ul class="chips" aria-label="Capabilities">
            {Object.keys(capabilities).map((name) => (
              <li key={name}>{cleanLine(name)}</li>
            ))}
          </ul>
        )}
        <p>
          <a href={hrefOf('work', undefined, { server: server.name, principal: server.principal })}>
            Calls to this server
          </a>
        </p>
        {server.addedBy === 'client' && server.principal === undefined && <Remove server={server} />}
      </Section>
      <Log lines={server.log ?? []} />
    </article>
  );
}

function Connect({ server }: { server: Server }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const connect = async (): Promise<void> => {
    setBusy(true);
    try {
      const path = `/api/v1/servers/${encodeURIComponent(server.name)}`;
      await post(`${path}/connect`, {});
      servers.put(await get<Server>(path));
    } catch (error) {
      note(messageOf(error), 'problem');
    }
    setBusy(false);
  };
  return (
    <div class="actions">
      <button
        type="button"
        class={server.tools === undefined || server.tools.length === 0 ? 'primary' : ''}
        disabled={busy}
        onClick={() => void connect()}
      >
        {busy
          ? 'Connecting…'
          : server.state === 'idle' || server.state === 'connected'
            ? 'Connect and list tools'
            : 'Connect now'}
      </button>
    </div>
  );
}

function Remove({ server }: { server: Server }): JSX.Element {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const remove = async (): Promise<void> => {
    setBusy(true);
    try {
      await post(`/api/v1/servers/${encodeURIComponent(server.name)}/remove`, {});
      servers.delete(serverKey(server));
      note(`Removed ${server.name}.`);
      go(hrefOf('servers'));
    } catch (error) {
      note(messageOf(error), 'problem');
      setBusy(false);
      setAsking(false);
    }
  };
  return (
    <div class="actions">
      {asking ? (
        <>
          <button type="button" class="danger" disabled={busy} onClick={() => void remove()}>
            Remove {server.name}
          </button>
          <button type="button" class="quiet" onClick={() => setAsking(false)}>
            Keep it
          </button>
          <span class="light">Its running calls will fail.</span>
        </>
      ) : (
        <button type="button" onClick={() => setAsking(true)}>
          Remove…
        </button>
      )}
    </div>
  );
}

function Log({ lines }: { lines: LogLine[] }): JSX.Element {
  return (
    <Section title="Log">
      {lines.length === 0 ? (
        <p class="muted">No log messages yet.</p>
      ) : (
        <div class="log" tabIndex={0} role="region" aria-label="Log">
          <ul>
            {lines.map((line, index) => (
              <li key={index} class={`level-${cleanLine(line.level)}`}>
                <time>{clock(line.time)}</time>
                <span class="level">{cleanLine(line.level)}</span>
                <span>{clean(line.data)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </Section>
  );
}
