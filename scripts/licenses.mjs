import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The licenses of the packages whose code is in a bundle: most of them require that their text goes along.
 * `inputs` are the bundled files, as esbuild names them.
 */
export async function bundledLicenses(inputs) {
  const folders = new Set(inputs.map(packageFolder).filter((folder) => folder !== undefined));
  const texts = await Promise.all([...folders].toSorted((a, b) => (a < b ? -1 : 1)).map(licenseOf));
  return `Meanwhile contains code of the following packages.\n\n${texts.join('\n')}`;
}

/** The folder of the package that a file belongs to, as in `node_modules/@scope/name`. */
function packageFolder(file) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
}

async function licenseOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? '' : `\n${(await readFile(join(folder, file), 'utf8')).trim()}\n`;
  if (file === undefined && typeof license !== 'string')
    throw new Error(`${name} does not say under which license it is`);
  return `${'-'.repeat(80)}\n${name} ${version} (${license ?? 'see below'})\n${text}`;
}
