import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PNG, richResult, WAV } from '../../../tests/servers/shared/rich.ts';
import { temporaryFolder } from '../../../tests/support/gateway.ts';
import { OutFolder } from '../out-folder.ts';
import { showContents, showResult } from './blocks.ts';

test('C-3: text is printed as it is, and every other content block as one line', async () => {
  expect((await showResult(richResult(), undefined)).split('\n')).toEqual([
    'rich ✓',
    '[image/png, 70 bytes]',
    '[audio/wav, 44 bytes]',
    '→ A text  test://text  (text/plain, 5 bytes)  linked',
    '[test://blob, application/octet-stream, 4 bytes]',
  ]);
});

test('C-3: structured content is printed if there is no text', async () => {
  const structuredContent = { total: 2 };
  expect(await showResult({ content: [], structuredContent }, undefined)).toBe('{\n  "total": 2\n}');
  const text = { type: 'text', text: '2 in all' };
  expect(await showResult({ content: [text], structuredContent }, undefined)).toBe('2 in all');
});

test('C-3: blocks of unknown types or with missing fields are still shown', async () => {
  const content = [{ type: 'hologram', depth: 3 }, { type: 'image' }, { type: 'resource' }, { type: 'resource_link' }];
  expect((await showResult({ content }, undefined)).split('\n')).toEqual([
    '{"type":"hologram","depth":3}',
    '[image, 0 bytes]',
    '[0 bytes]',
    '→ ',
  ]);
  expect(await showContents({ uri: 'a:b', text: 'plain' }, undefined)).toBe('plain');
});

test('C-3: with an output folder, blocks other than text are saved to new files', async () => {
  const folder = join(await temporaryFolder(), 'new', 'deep');
  const first = await showResult(richResult(), new OutFolder(folder, '../rich'));
  expect(first).toContain(`[image/png, 70 bytes: ${join(folder, 'rich-1.png')}]`);
  expect(await readdir(folder)).toEqual(['rich-1.png', 'rich-2.wav', 'rich-3.bin']);
  expect((await readFile(join(folder, 'rich-1.png'))).toString('base64')).toBe(PNG);
  await writeFile(join(folder, 'rich-1.png'), 'kept');
  await showResult(richResult(), new OutFolder(folder, 'rich'));
  expect(await readFile(join(folder, 'rich-1.png'), 'utf8')).toBe('kept');
  expect((await readFile(join(folder, 'rich-3.wav'))).toString('base64')).toBe(WAV);
});

test('C-3: the error for an output folder that cannot be written to names the folder', async () => {
  const file = join(await temporaryFolder(), 'file');
  await writeFile(file, '');
  await expect(new OutFolder(file, 'x').save(PNG, 'image/png')).rejects.toThrow(`--out ${file}`);
});
