/** The frame around the pages. */

import type { ComponentType, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefOf, type PageName } from './route.ts';
import { announcement, dismiss, notes } from './state/announce.ts';
import { useWatched } from './state/collection.ts';
import { useKeys } from './state/keys.ts';
import {
  calls,
  identityOf,
  isRunning,
  streamState,
  openCount,
  phase,
  questions,
  retryNow,
  servers,
  signOut,
  start,
  unlisted,
} from './state/live.ts';
import { go, route, stayInList } from './state/route.ts';
import { useTick } from './state/tick.ts';
import { Icon, Logo, type IconName } from './ui/icons.tsx';
import { Empty } from './ui/parts.tsx';
import { Audit } from './pages/audit.tsx';
import { Inbox } from './pages/inbox.tsx';
import { Servers } from './pages/servers.tsx';
import { Sessions } from './pages/sessions.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { Timeline } from './pages/timeline.tsx';
import { Work } from './pages/work.tsx';
import { Shortcuts } from './pages/shortcuts.tsx';
import type { Me } from '../lib/api-items.ts';

interface Place {
  page: PageName;
  title: string;
  icon: IconName;
  key: string;
  show: ComponentType;
}

const PLACES: readonly Place[] = [
  { page: 'inbox', title: 'Inbox', icon: 'inbox', key: 'i', show: Inbox },
  { page: 'work', title: 'Work', icon: 'work', key: 'w', show: Work },
  { page: 'timeline', title: 'Timeline', icon: 'timeline', key: 't', show: Timeline },
  { page: 'servers', title: 'Servers', icon: 'servers', key: 's', show: Servers },
  { page: 'sessions', title: 'Sessions', icon: 'sessions', key: 'e', show: Sessions },
];

/** Only where there is an audit record. */
const AUDIT: Place = { page: 'audit', title: 'Audit', icon: 'audit', key: 'a', show: Audit };

const placesOf = ({ audit }: Me): readonly Place[] => (audit === undefined ? PLACES : [...PLACES, AUDIT]);

export function App(): JSX.Element {
  useWatched(phase);
  const now = phase.get();
  switch (now.name) {
    case 'starting':
      return <main class="starting" aria-busy="true" />;
    case 'signed out':
      return <SignIn key={now.problem} reason={now.reason} problem={now.problem} issuer={now.issuer} />;
    case 'failed':
      return (
        <main class="starting">
          <Empty icon="warning" title="The console cannot reach the gateway">
            <p>{now.reason}</p>
            <p>
              <button type="button" class="primary" onClick={() => void start()}>
                Try again
              </button>
            </p>
          </Empty>
        </main>
      );
    case 'ready':
      return <Frame key={identityOf(now.me)} me={now.me} />;
  }
}

function Frame({ me }: { me: Me }): JSX.Element {
  useWatched(route);
  const { page, id } = route.get();
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const places = placesOf(me);
  const goTo = Object.fromEntries(places.map((place) => [`g ${place.key}`, () => go(hrefOf(place.page))]));
  useKeys({ ...goTo, '?': () => setHelp(true) });
  // A new page begins at its heading. The first one leaves the focus alone.
  const visited = useRef(false);
  useEffect(() => {
    if (visited.current && !stayInList() && id === undefined) main.current?.querySelector<HTMLElement>('h1')?.focus();
    visited.current = true;
  }, [page]);
  const Page = places.find((place) => place.page === page)?.show ?? Inbox;
  return (
    <div class={`frame ${id === undefined ? '' : 'at-item'}`}>
      <Navigation
        me={me}
        onHelp={() => setHelp(true)}
        onSkip={() => main.current?.querySelector<HTMLElement>('h1')?.focus()}
      />
      <main ref={main}>
        <LostBanner />
        {me.readOnly === true && (
          <div class="banner">
            <span>
              Your account has read-only access: you can view everything here, but not answer or change anything.
            </span>
          </div>
        )}
        <Page key={page} />
      </main>
      <Notes />
      <Announcer />
      {help && <Shortcuts places={places} onClose={() => setHelp(false)} />}
    </div>
  );
}

interface NavigationProps {
  me: Me;
  onHelp: () => void;
  onSkip: () => void;
}

function Navigation({ me, onHelp, onSkip }: NavigationProps): JSX.Element {
  useWatched(route, questions, unlisted, calls, servers, streamState);
  const open = openCount();
  const counts: Partial<Record<PageName, number>> = {
    inbox: open,
    work: calls.all().filter(isRunning).length,
    servers: servers.all().filter(({ state }) => state === 'failed').length,
  };
  const words: Partial<Record<PageName, string>> = { inbox: 'open', work: 'running', servers: 'failed' };
  const { page } = route.get();
  const places = placesOf(me);
  const title = places.find((place) => place.page === page)?.title ?? '';
  useEffect(() => {
    document.title = `${open === 0 ? '' : `(${open}) `}${title} – Meanwhile`;
  }, [open, title]);
  return (
    <nav aria-label="Pages">
      <button type="button" class="skip" onClick={onSkip}>
        Skip to content
      </button>
      <a class="brand" href={hrefOf('inbox')}>
        <Logo /> <span>Meanwhile</span>
      </a>
      <ul>
        {places.map((place) => {
          const count = counts[place.page] ?? 0;
          return (
            <li key={place.page}>
              <a href={hrefOf(place.page)} aria-current={place.page === page ? 'page' : undefined}>
                <Icon name={place.icon} />
                <span>{place.title}</span>
                {count > 0 && (
                  <span class={`count ${place.page}`}>
                    {count > 999 ? '999+' : count}
                    <span class="sr-only"> {words[place.page]}</span>
                  </span>
                )}
              </a>
            </li>
          );
        })}
      </ul>
      <div class="nav-foot">
        <LinkState />
        <div class="who">
          <span
            title={`${me.principal}: sees ${me.operator ? 'everything, as an operator' : 'only the data of this user'}`}
          >
            {me.principal}
            {me.operator && <span class="light"> operator</span>}
          </span>
          <button
            type="button"
            class="icon-button"
            onClick={onHelp}
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
          >
            <Icon name="keyboard" />
          </button>
          <button
            type="button"
            class="icon-button"
            onClick={() => void signOut()}
            aria-label="Sign out"
            title="Sign out"
          >
            <Icon name="leave" />
          </button>
        </div>
      </div>
    </nav>
  );
}

function LinkState(): JSX.Element {
  const { state } = streamState.get();
  const text = { live: 'Live', connecting: 'Connecting…', lost: 'Reconnecting…' }[state];
  return (
    <span class={`link-state ${state}`}>
      <span class="dot" /> {text}
    </span>
  );
}

/** A short loss is not worth a banner. */
const CALM_MS = 2000;

function LostBanner(): JSX.Element | null {
  useWatched(streamState);
  const now = streamState.get();
  useTick(1, now.state === 'lost');
  if (now.state !== 'lost' || Date.now() - now.since < CALM_MS) return null;
  const seconds = Math.max(0, Math.ceil((now.retryAt - Date.now()) / 1000));
  return (
    <div class="banner">
      <span>
        The gateway cannot be reached. This page may be out of date; your input is kept.
        <span class="light"> {seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again…'}</span>
      </span>
      <button type="button" onClick={retryNow}>
        Try now
      </button>
    </div>
  );
}

function Notes(): JSX.Element {
  useWatched(notes);
  return (
    <div class="notes">
      {notes.get().map(({ id, text, kind, href }) => (
        <div key={id} class={`note-item ${kind}`}>
          <Icon name={kind === 'done' ? 'check' : 'warning'} />
          <span>{text}</span>
          {href !== undefined && (
            <a href={href} onClick={() => dismiss(id)}>
              Show
            </a>
          )}
          <button type="button" class="icon-button" aria-label="Close" onClick={() => dismiss(id)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}

function Announcer(): JSX.Element {
  useWatched(announcement);
  return (
    <div class="sr-only" role="status" aria-live="polite">
      {announcement.get()}
    </div>
  );
}
