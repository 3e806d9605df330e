import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface Props {
  places: readonly { title: string; key: string }[];
  onClose: () => void;
}

export function Shortcuts({ places, onClose }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const keys: [string[], string][] = [
    [['j'], 'Next item'],
    [['k'], 'Previous item'],
    [['Enter'], 'Open the item; in an open item, go to its form'],
    [['Ctrl', 'Enter'], 'Send the form (⌘ Enter on a Mac)'],
    [['Esc'], 'Leave the form, then the item'],
    [['/'], 'Filter'],
    ...places.map(({ title, key }): [string[], string] => [['g', key], title]),
    [['?'], 'Show these shortcuts'],
  ];
  return (
    <dialog ref={dialog} aria-labelledby="shortcuts-title" onClose={onClose}>
      <h2 id="shortcuts-title">Keyboard shortcuts</h2>
      <dl class="shortcuts">
        {keys.map(([combination, text]) => (
          <div key={text}>
            <dt>
              {combination.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="primary" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
