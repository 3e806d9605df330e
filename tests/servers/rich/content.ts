import { PNG, WAV } from '../shared/rich.ts';
import { ANNOTATIONS, ICONS, vendor, vendorMeta } from './vendor.ts';
import type { Json } from './wire.ts';

/** Every kind of content block, with all that it may carry. */
export const BLOCKS: Json[] = [
  { type: 'text', text: 'rich ✓\n\ttext', annotations: ANNOTATIONS, ...vendorMeta('text'), ...vendor('text') },
  { type: 'text', text: '' },
  {
    type: 'image',
    data: PNG,
    mimeType: 'image/png',
    annotations: ANNOTATIONS,
    ...vendorMeta('image'),
    ...vendor('image'),
  },
  {
    type: 'audio',
    data: WAV,
    mimeType: 'audio/wav',
    annotations: ANNOTATIONS,
    ...vendorMeta('audio'),
    ...vendor('audio'),
  },
  {
    type: 'resource_link',
    uri: 'rich://text',
    name: 'text',
    title: 'A text',
    description: 'linked',
    mimeType: 'text/plain',
    size: 5,
    icons: ICONS,
    annotations: ANNOTATIONS,
    ...vendorMeta('link'),
    ...vendor('link'),
  },
  {
    type: 'resource',
    resource: {
      uri: 'rich://text',
      mimeType: 'text/plain',
      text: 'embedded',
      ...vendorMeta('inside'),
      ...vendor('inside'),
    },
    annotations: ANNOTATIONS,
    ...vendorMeta('embedded'),
    ...vendor('embedded'),
  },
  {
    type: 'resource',
    resource: { uri: 'rich://blob', mimeType: 'application/octet-stream', blob: 'AAEC/w==', ...vendor('blob') },
  },
];

export function text(value: string): Json {
  return { content: [{ type: 'text', text: value }] };
}
