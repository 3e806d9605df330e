/** Content of results and messages: text, images, audio and resources. Nothing of it becomes markup. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { clean, cleanLine } from '../../lib/clean.ts';
import { isObject } from '../../lib/values.ts';
import { isBase64 } from '../base64.ts';
import { bytes } from '../format.ts';
import { httpUrl } from '../http-url.ts';
import { Icon } from './icons.tsx';
import { JsonView, LongText } from './json.tsx';

export function Blocks({ content, label }: { content: unknown; label: string }): JSX.Element {
  const blocks = Array.isArray(content) ? content : [content];
  return (
    <div class="blocks">
      {blocks.map((block, index) => (
        <Block key={index} block={block} label={blocks.length > 1 ? `${label} ${index + 1}` : label} />
      ))}
    </div>
  );
}

function Block({ block, label }: { block: unknown; label: string }): JSX.Element {
  if (!isObject(block)) return <JsonView value={block} label={label} />;
  const { type, text, data, mimeType } = block;
  if (type === 'text' && typeof text === 'string') return <Text text={text} label={label} />;
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    return <Media kind={type} data={data} mimeType={String(mimeType)} label={label} />;
  }
  if (type === 'resource' && isObject(block['resource']))
    return <Resource resource={block['resource']} label={label} />;
  if (type === 'resource_link') return <ResourceLink block={block} />;
  return <JsonView value={block} label={label} />;
}

/** Many servers send JSON as a text. */
function Text({ text, label }: { text: string; label: string }): JSX.Element {
  const json = asJson(text);
  return json === undefined ? <LongText text={text} label={label} /> : <JsonView value={json} label={label} />;
}

function asJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || text.length > 1_000_000) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

interface MediaProps {
  kind: 'image' | 'audio';
  data: string;
  mimeType: string;
  label: string;
}

function Media({ kind, data, mimeType, label }: MediaProps): JSX.Element {
  const [broken, setBroken] = useState(false);
  const fits = new RegExp(`^${kind}/[a-z0-9.+-]+$`, 'i').test(mimeType) && isBase64(data);
  const size = bytes(Math.floor((data.length * 3) / 4));
  if (!fits || broken) {
    return (
      <p class="muted">
        This {kind} cannot be shown because it is not valid ({cleanLine(mimeType) || 'no type'}, {size}).
      </p>
    );
  }
  const source = `data:${mimeType};base64,${data}`;
  return (
    <figure>
      {kind === 'image' ? (
        <img src={source} alt={`${label}, ${mimeType}`} onError={() => setBroken(true)} />
      ) : (
        <audio controls src={source} aria-label={label} onError={() => setBroken(true)} />
      )}
      <figcaption>
        {mimeType}, {size}
      </figcaption>
    </figure>
  );
}

function Resource({ resource, label }: { resource: Record<string, unknown>; label: string }): JSX.Element {
  const { uri, text, blob, mimeType } = resource;
  const type = typeof mimeType === 'string' ? mimeType : '';
  const kind = /^(image|audio)\//.exec(type)?.[1] as 'image' | 'audio' | undefined;
  return (
    <div class="resource">
      <p class="muted">
        <Icon name="link" /> <Address text={cleanLine(uri)} /> {cleanLine(type)}
      </p>
      {typeof text === 'string' && <Text text={text} label={label} />}
      {typeof blob === 'string' && kind !== undefined && (
        <Media kind={kind} data={blob} mimeType={type} label={label} />
      )}
      {typeof blob === 'string' && kind === undefined && (
        <p class="muted">Binary, {bytes(Math.floor((blob.length * 3) / 4))}</p>
      )}
    </div>
  );
}

function ResourceLink({ block }: { block: Record<string, unknown> }): JSX.Element {
  const { uri, name, title, description } = block;
  return (
    <div class="resource">
      <p>
        <strong>{cleanLine(title ?? name)}</strong> <Address text={cleanLine(uri)} />
      </p>
      {typeof description === 'string' && <p class="muted">{clean(description)}</p>}
    </div>
  );
}

/** A link if it leads to a web page; everything else is shown as it is. */
export function Address({ text }: { text: string }): JSX.Element {
  const url = httpUrl(text);
  if (url === undefined) return <code>{text}</code>;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  );
}
