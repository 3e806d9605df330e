/** One transparent pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
/** A RIFF header with no samples. */
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

/** Every kind of content block, with annotations, `_meta` and a key no schema knows. */
export function richResult() {
  return {
    content: [
      {
        type: 'text' as const,
        text: 'rich ✓',
        annotations: { audience: ['user' as const], priority: 0.5, lastModified: '2026-01-02T03:04:05Z' },
        _meta: { 'vendor.example/block': { n: 1 } },
        vendorKey: 'kept',
      },
      { type: 'image' as const, data: PNG, mimeType: 'image/png' },
      { type: 'audio' as const, data: WAV, mimeType: 'audio/wav' },
      {
        type: 'resource_link' as const,
        uri: 'test://text',
        name: 'text',
        title: 'A text',
        description: 'linked',
        mimeType: 'text/plain',
        size: 5,
      },
      {
        type: 'resource' as const,
        resource: { uri: 'test://blob', mimeType: 'application/octet-stream', blob: 'AAEC/w==' },
      },
    ],
    structuredContent: { total: 2, items: ['a', 'b'] },
    _meta: { 'vendor.example/result': { trace: 'abc' } },
  };
}
