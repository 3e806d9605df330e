import { ANNOTATIONS, ICONS, vendor, vendorMeta } from './vendor.ts';
import { metaOf, Refusal, type Json, type Peer } from './wire.ts';

export const RESOURCES: Json[] = [
  {
    uri: 'rich://text',
    name: 'text',
    title: 'A text',
    description: 'Two texts and a blob under one address',
    mimeType: 'text/plain; charset=utf-8',
    size: 21,
    icons: ICONS,
    annotations: ANNOTATIONS,
    ...vendorMeta('resource'),
    ...vendor('resource'),
  },
  { uri: 'rich://blob', name: 'blob', mimeType: 'application/octet-stream', size: 4 },
  { uri: 'rich://unicode/ünï ✓', name: 'ünï ✓' },
  { uri: 'rich://counter', name: 'counter', description: 'How often it was read' },
  { uri: 'rich://slow', name: 'slow', description: 'Reports progress' },
];

export const TEMPLATES: Json[] = [
  {
    uriTemplate: 'rich://item/{id}{?part*}',
    name: 'item',
    title: 'An item',
    description: 'Any item',
    mimeType: 'application/json',
    icons: ICONS,
    annotations: ANNOTATIONS,
    ...vendorMeta('template'),
    ...vendor('template'),
  },
  { uriTemplate: 'rich://two/{a}/{b}', name: 'two' },
  { uriTemplate: 'rich://three/{+path}', name: 'three' },
];

const CONTENTS: Record<string, Json[]> = {
  'rich://text': [
    { uri: 'rich://text', mimeType: 'text/plain', text: 'first', ...vendorMeta('contents'), ...vendor('contents') },
    { uri: 'rich://text#2', text: '' },
    { uri: 'rich://text#3', mimeType: 'application/octet-stream', blob: '' },
  ],
  'rich://blob': [{ uri: 'rich://blob', mimeType: 'application/octet-stream', blob: 'AAEC/w==', ...vendor('blob') }],
  'rich://unicode/ünï ✓': [{ uri: 'rich://unicode/ünï ✓', text: 'ünï ✓' }],
};

export class Resources {
  #reads = 0;

  read(params: Json, peer: Peer, notFound: number): Json {
    const uri = String(params['uri']);
    if (uri === 'rich://counter') {
      this.#reads += 1;
      return { contents: [{ uri, text: `read ${this.#reads}` }] };
    }
    if (uri === 'rich://slow') {
      const { progressToken } = metaOf(params);
      if (progressToken !== undefined) {
        peer.say('notifications/progress', { progressToken, progress: 1, total: 2, ...vendor('progress of a read') });
      }
      return { contents: [{ uri, text: 'at last' }] };
    }
    if (uri === 'rich://refused') {
      throw new Refusal({ code: 4712, message: 'not for you', data: { uri, ...vendor('error of a read') } });
    }
    const contents = CONTENTS[uri];
    if (contents === undefined) {
      throw new Refusal({ code: notFound, message: 'Resource not found', data: { uri, ...vendor('not found') } });
    }
    return { contents, ...vendorMeta('read'), ...vendor('read') };
  }

  /** Only what is listed can be subscribed to. */
  static known(uri: string): boolean {
    return RESOURCES.some((each) => each['uri'] === uri);
  }
}
