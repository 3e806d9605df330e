// Puts chunks of a split bundle together, so that a program loads few files. A bundler makes one chunk for each set of
// commands that share code; Node's loader takes time and memory for each of them.
import { basename } from 'node:path';
import { build } from 'esbuild';

/**
 * `stages` have the source files that the program loads one after the other; `others` are those of programs that share code with
 * it, by name. What a stage adds becomes a file of its `name`; what it shares with other programs, files that begin with `shared`.
 * No other program may load a file of the first kind, not even later: importing the program runs it. Returns all files as [name, text].
 */
export async function mergeChunks({ outputFiles, metafile }, stages, others) {
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  const chunks = new Map(Object.entries(metafile.outputs).map(([path, chunk]) => [basename(path), chunk]));
  const groupOf = assign(chunks, stages, others);
  const groupNames = [...new Set(groupOf.values())];
  // Another chunk may export the same name.
  const numbers = new Map([...groupOf.keys()].map((chunk, index) => [chunk, index]));
  const inGroup = (chunk, name) => `${name}_${numbers.get(chunk)}`;
  const exported = (chunk, from, names) =>
    `export {${chunks
      .get(chunk)
      .exports.map((name) => names(name))
      .join(',')}} from ${JSON.stringify(from)};`;

  const plugin = {
    name: 'merge-chunks',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/ }, ({ path, kind, importer, namespace }) => {
        const name = basename(path);
        if (kind === 'entry-point') return { path: name, namespace: groupNames.includes(name) ? 'group' : 'chunk' };
        if (kind === 'dynamic-import' || namespace === 'other-group' || !groupOf.has(name))
          return { path, external: true };
        const within = namespace === 'group' ? importer : groupOf.get(importer);
        return { path: name, namespace: groupOf.get(name) === within ? 'chunk' : 'other-group' };
      });
      onLoad({ filter: /.*/, namespace: 'chunk' }, ({ path }) => ({ contents: texts.get(path) }));
      onLoad({ filter: /.*/, namespace: 'other-group' }, ({ path }) => ({
        contents: exported(path, `./${groupOf.get(path)}`, (name) => `${inGroup(path, name)} as ${name}`),
      }));
      onLoad({ filter: /.*/, namespace: 'group' }, ({ path: group }) => ({
        contents: [...groupOf]
          .filter(([, name]) => name === group)
          .map(([chunk]) => exported(chunk, `./${chunk}`, (name) => `${name} as ${inGroup(chunk, name)}`))
          .join('\n'),
      }));
    },
  };
  const alone = [...chunks.keys()].filter((chunk) => !groupOf.has(chunk));
  const merged = await build({
    entryPoints: [...groupNames, ...alone].map((name) => ({ in: name, out: basename(name, '.js') })),
    outdir: 'dist',
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [plugin],
  });
  const files = merged.outputFiles.map(({ path, text }) => [basename(path), text]);
  // What is imported on demand keeps its name.
  const onDemand = [...groupOf].filter(
    ([chunk, group]) => chunk !== group && chunks.get(chunk).entryPoint !== undefined,
  );
  for (const [chunk, group] of onDemand) {
    files.push([chunk, exported(chunk, `./${group}`, (name) => `${inGroup(chunk, name)} as ${name}`)]);
  }
  return files;
}

/** The file of each chunk that is merged. */
function assign(chunks, stages, others) {
  const byEntry = new Map([...chunks].map(([name, { entryPoint }]) => [entryPoint, name]));
  const loadedBy = (sources, kinds = ['import-statement']) => {
    const found = new Set(sources.map((entry) => byEntry.get(entry)));
    for (const name of found) {
      for (const { path, kind, external } of chunks.get(name).imports) {
        if (kinds.includes(kind) && !external) found.add(basename(path));
      }
    }
    return found;
  };
  const ever = ['import-statement', 'dynamic-import'];
  const sharing = Object.entries(others).map(([name, entry]) => ({ name, loaded: loadedBy([entry], ever) }));
  const groupOf = new Map();
  for (const { name, shared, entries } of stages) {
    for (const chunk of loadedBy(entries)) {
      if (groupOf.has(chunk)) continue;
      const by = sharing.filter(({ loaded }) => loaded.has(chunk)).map((other) => `-${other.name}`);
      groupOf.set(chunk, by.length > 0 ? `${shared}${by.join('')}.js` : `${name}.js`);
    }
  }
  return groupOf;
}
