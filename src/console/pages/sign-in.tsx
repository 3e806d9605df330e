import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { launchLink } from '../launch-link.ts';
import { signIn } from '../state/live.ts';
import { Logo } from '../ui/icons.tsx';
import { Command, Notice } from '../ui/parts.tsx';
import { messageOf } from '../wire/api.ts';

export function SignIn({
  reason,
  problem: given,
}: {
  reason?: string | undefined;
  problem?: string | undefined;
}): JSX.Element {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState(given);
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
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
    <main class="sign-in">
      <form
        noValidate
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Logo />
        <h1>Meanwhile</h1>
        <p class="muted">Answer what your tools ask, and watch what they do.</p>
        {reason !== undefined && <Notice tone="info">{reason}</Notice>}
        <div class={`field ${problem === undefined ? '' : 'wrong'}`}>
          <label for="key">Token or launch key</label>
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
            A token from <code>auth.tokens</code> in the config file, or the key in the link that the gateway prints
            when it starts.
          </p>
        </div>
        <button type="submit" class="primary wide" disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
        <p class="help">
          On the machine of the gateway, <Command text="meanwhile console" /> opens this page signed in.
        </p>
      </form>
    </main>
  );
}

/** People paste the whole link, too. */
function keyIn(text: string): string {
  return launchLink(text.slice(Math.max(0, text.indexOf('#'))))?.key ?? text;
}
