import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { quoteWord, splitWords } from './shell-words.ts';

test.each([
  ['npx -y some-server --flag', ['npx', '-y', 'some-server', '--flag']],
  ['  spaced\tout  ', ['spaced', 'out']],
  [`node 'my server.js' "a b"`, ['node', 'my server.js', 'a b']],
  [`a'b c'"d e"f`, ['ab cd ef']],
  [`''  ""`, ['', '']],
  [String.raw`a\ b \"q\" "say \"hi\" \n"`, ['a b', '"q"', String.raw`say "hi" \n`]],
  [`'$HOME' "*"`, ['$HOME', '*']],
  ['', []],
])('C-3: %j is split into words as by a shell', (text, words) => {
  expect(splitWords(text)).toEqual(words);
  if (words.length > 0) expect(asShellReads(text)).toEqual(words);
});

test.each([`node 'open`, `node "open`, 'node \\'])('C-3: %j is not a complete command', (text) => {
  expect(splitWords(text)).toBeUndefined();
});

test.each(['plain', 'a b', "it's", '$HOME', 'a"b', '', 'https://x.example/mcp?a=1&b=2', '../a-b_c.d', '!x', 'grüße'])(
  'C-3: %j is quoted so that a shell reads it as one word',
  (word) => {
    expect(asShellReads(quoteWord(word))).toEqual([word]);
    expect(splitWords(quoteWord(word))).toEqual([word]);
  },
);

function asShellReads(text: string): string[] {
  const script = `for word in ${text}; do printf '%s\\0' "$word"; done`;
  return execFileSync('sh', ['-f', '-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}
