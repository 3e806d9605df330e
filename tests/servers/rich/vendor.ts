/** What no schema knows, for every level of every message, and other values that are easily lost on the way. */
import type { Json } from './wire.ts';

export const ICONS = [
  {
    src: 'https://example.com/light.svg',
    mimeType: 'image/svg+xml',
    sizes: ['any', '48x48'],
    theme: 'light',
    'x-icon': 1,
  },
  { src: 'data:image/png;base64,AAAA' },
];

export const ANNOTATIONS = {
  audience: ['user', 'assistant'],
  priority: 0.25,
  lastModified: '2026-01-02T03:04:05Z',
  'x-annotation': true,
};

/** Spread into an object: fields of a vendor, of every type that JSON has. */
export function vendor(where: string): Json {
  return {
    'x-vendor': {
      where,
      nothing: null,
      no: false,
      zero: 0,
      float: 1.5e-7,
      large: Number.MAX_SAFE_INTEGER,
      empty: ['', {}, []],
      text: 'ünï✓😀\u2028\u0000\ud800',
      '': 'a key without a name',
      constructor: 'kept',
      ['__proto__']: 'kept',
    },
  };
}

export function vendorMeta(where: string): { _meta: Json } {
  return { _meta: { 'com.example/trace': { where, list: [1, null] }, plain: where } };
}
