import { PNG } from '../shared/rich.ts';
import { Fault, type Json } from './call.ts';

const CONTENTS: Record<string, Json> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content' },
};

export const RESOURCES: readonly Json[] = Object.entries(CONTENTS).map(([uri, { mimeType }]) => ({
  uri,
  name: uri.slice('test://'.length),
  description: 'A resource for testing',
  mimeType,
}));

export const TEMPLATES: readonly Json[] = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'A resource with a parameter',
    mimeType: 'application/json',
  },
];

/** The code of the error was another one in each era. */
export function readResource(uri: string, notFound: number): Json {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  const content = id === undefined ? CONTENTS[uri] : { mimeType: 'application/json', text: JSON.stringify(data) };
  if (content === undefined) throw new Fault(notFound, 'Resource not found', { uri });
  return { contents: [{ uri, ...content }] };
}
