import type { JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../lib/error-message.ts';
import { launchLink } from '../launch-link.ts';
import { readIssuers, signIn, signInWith, type IssuerChoice, type IssuerToLeave } from '../state/live.ts';
import { Logo } from '../ui/icons.tsx';
import { Command, Notice } from '../ui/parts.tsx';

interface SignInProps {
  reason?: string | undefined;
  problem?: string | undefined;
  /** Where the person, who has signed out here, is still signed in. */
  issuer?: IssuerToLeave | undefined;
}

export function SignIn({ reason, problem, issuer }: SignInProps): JSX.Element {
  const [issuers, setIssuers] = useState<readonly IssuerChoice[]>();
  const first = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Without them, there are still the other ways.
    readIssuers().then(setIssuers, () => setIssuers([]));
  }, []);
  // When it is known what comes first: a focus that moves would disturb.
  useEffect(() => {
    if (issuers !== undefined) (first.current ?? input.current)?.focus();
  }, [issuers]);
  return (
    <main class="sign-in">
      <div class="form">
        <Logo />
        <h1>Meanwhile</h1>
        <p class="muted">Answer questions from your tools, and watch their work.</p>
        {reason !== undefined && <Notice tone="info">{reason}</Notice>}
        {issuer !== undefined && (
          <Notice tone="info">
            You have signed out of the console. You are still signed in with {issuer.title}.{' '}
            <a href={issuer.url} rel="noreferrer">
              Sign out there, too.
            </a>
          </Notice>
        )}
        {issuers !== undefined && issuers.length > 0 && <Issuers issuers={issuers} first={first} />}
        <KeyForm problem={problem} input={input} isSecond={issuers !== undefined && issuers.length > 0} />
      </div>
    </main>
  );
}

function Issuers({
  issuers,
  first,
}: {
  issuers: readonly IssuerChoice[];
  first: RefObject<HTMLButtonElement | null>;
}): JSX.Element {
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const choose = async (choice: IssuerChoice): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await signInWith(choice);
    } catch (error) {
      setProblem(messageOf(error));
    }
    // Also on success, so that the page is usable after the browser's back button.
    setBusy(false);
  };
  return (
    <div class="issuers">
      {issuers.map((choice, index) => (
        <button
          key={choice.issuer}
          {...(index === 0 && { ref: first })}
          type="button"
          class="primary wide"
          disabled={busy}
          onClick={() => void choose(choice)}
        >
          Sign in with {choice.title}
        </button>
      ))}
      {problem !== undefined && (
        <p class="mistake" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

interface KeyFormProps {
  problem: string | undefined;
  input: RefObject<HTMLInputElement | null>;
  /** There are better ways above it. */
  isSecond: boolean;
}

function KeyForm({ problem: given, input, isSecond }: KeyFormProps): JSX.Element {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState(given);
  const [busy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    if (key.trim() === '') {
      setProblem('Paste a token or a launch key first.');
      input.current?.focus();
      return;
    }
    setBusy(true);
    try {
      await signIn(keyIn(key.trim()));
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
      input.current?.focus();
    }
  };
  return (
    <form
      noValidate
      class={`form ${isSecond ? 'second' : ''}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div class={`field ${problem === undefined ? '' : 'wrong'}`}>
        <label for="key">{isSecond ? 'Or a token or launch key' : 'Token or launch key'}</label>
        <input
          ref={input}
          id="key"
          type="password"
          autocomplete="current-password"
          value={key}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? 'key-help' : 'key-help key-mistake'}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
        {problem !== undefined && (
          <p class="mistake" id="key-mistake" role="alert">
            {problem}
          </p>
        )}
        <p class="help" id="key-help">
          A token from <code>auth.tokens</code> in the config file, or the key in the link that the gateway prints when
          it starts.
        </p>
      </div>
      <button type="submit" class={`wide ${isSecond ? '' : 'primary'}`} disabled={busy}>
        {busy ? 'Signing in…' : 'Sign in'}
      </button>
      <p class="help">
        On the gateway’s machine, <Command text="meanwhile console" /> opens this page and signs you in.
      </p>
    </form>
  );
}

/** People paste the whole link, too. */
function keyIn(text: string): string {
  return launchLink(text.slice(Math.max(0, text.indexOf('#'))))?.key ?? text;
}
