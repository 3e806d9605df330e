/** Completion scripts for shells, made from the definitions of the commands. */

import {
  COMMANDS,
  definitionOf,
  FLAGS,
  GENERAL_FLAGS,
  PUBLIC_COMMANDS,
  type CommandName,
  type Completion,
  type FlagDefinition,
  type FlagName,
} from './definitions.ts';

export const SHELLS = { bash, zsh, fish };

export type Shell = keyof typeof SHELLS;

const SUMMARIES: readonly [name: string, summary: string][] = [
  ...PUBLIC_COMMANDS.map((name): [string, string] => [name, COMMANDS[name].summary]),
  ['help', 'show help for a command, or the exit codes'],
  ['version', 'show the version'],
];

const HELP_TOPICS = [...PUBLIC_COMMANDS, 'exit-codes'];

function flagsOf(command: CommandName): [name: FlagName, flag: FlagDefinition][] {
  const { flags, flagHelp = {}, unlisted = [] } = definitionOf(command);
  const names = new Set([...flags, ...GENERAL_FLAGS.filter((name) => !unlisted.includes(name))]);
  return [...names].map((name) => [name, { ...FLAGS[name], help: flagHelp[name] ?? FLAGS[name].help }]);
}

/** Whether all operands are of the same kind. */
const takesMany = (command: CommandName): boolean => definitionOf(command).operands?.includes('…') ?? false;

const operandsOf = (command: CommandName): Completion | undefined => definitionOf(command).complete;

/** The first sentence; a menu has one line for each flag. */
const brief = (help: string): string => help.split(/[;.:(] /)[0]?.trimEnd() ?? help;

/** Within single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

// --- bash ---

/** Works with bash 3.2, which macOS has. Where it offers nothing, bash completes files. */
function bash(): string {
  const all = Object.entries<FlagDefinition>(FLAGS);
  const withValue = all.filter(([, { value }]) => value !== undefined);
  const words = withValue.filter(([, { complete }]) => Array.isArray(complete));
  const optionsFor = (command: CommandName): string =>
    flagsOf(command)
      .map(([name]) => `--${name}`)
      .join(' ');
  const cases = PUBLIC_COMMANDS.map((name) => {
    const operands = operandsOf(name);
    const first = Array.isArray(operands) ? `${operands.join(' ')} ` : '';
    return `    ${name}) words='${first}${optionsFor(name)}' ;;`;
  });
  return `# bash completion of meanwhile
_meanwhile() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command='' words='' i
  COMPREPLY=()
  # bash splits --flag=value into three words.
  if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${withValue.map(([name]) => `--${name}`).join('|')}) ((i++)); if [[ \${COMP_WORDS[i]} == = ]]; then ((i++)); fi ;;
      -*) ;;
      *) command=\${COMP_WORDS[i]}; break ;;
    esac
  done
  case $prev in
${words.map(([name, { complete }]) => `    --${name}) words='${(complete as string[]).join(' ')}'; command=value ;;`).join('\n')}
    ${withValue
      .filter((flag) => !words.includes(flag))
      .map(([name]) => `--${name}`)
      .join('|')}) return ;;
  esac
  case $command in
    value) ;;
    '') words='${SUMMARIES.map(([name]) => name).join(' ')} ${GENERAL_FLAGS.map((name) => `--${name}`).join(' ')}' ;;
    help) words='${HELP_TOPICS.join(' ')}' ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -o default -F _meanwhile meanwhile
`;
}

// --- zsh ---

const zshText = (text: string): string => text.replaceAll(/[[\]:\\]/g, String.raw`\$&`);

function zshValues(complete: Completion | undefined): string {
  if (complete === 'files') return '_files';
  if (complete === 'folders') return '_files -/';
  return complete === undefined ? '' : `(${complete.join(' ')})`;
}

function zshFlag([name, { value, multiple, short, help, complete }]: [FlagName, FlagDefinition]): string {
  const flag = `${multiple ? '*' : ''}--${name}[${zshText(brief(help))}]`;
  if (short !== undefined) return `'(-${short} --${name})'{-${short},--${name}}'[${zshText(brief(help))}]'`;
  return quoted(value === undefined ? flag : `${flag}:${zshText(value)}:${zshValues(complete)}`);
}

function zsh(): string {
  const general = GENERAL_FLAGS.map((name) => zshFlag([name, FLAGS[name]])).join(' ');
  const cases = PUBLIC_COMMANDS.map((name) => {
    const operands = operandsOf(name);
    const parts = [
      ...flagsOf(name).map(zshFlag),
      ...(operands === undefined ? [] : [quoted(`${takesMany(name) ? '*' : '1'}: :${zshValues(operands)}`)]),
      ...(operands !== undefined && takesMany(name) ? [] : [quoted('*: :_files')]),
    ];
    return `        ${name}) _arguments ${parts.join(' ')} ;;`;
  });
  return `#compdef meanwhile
# zsh completion of meanwhile
_meanwhile() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  local -a commands=(
${SUMMARIES.map(([name, summary]) => `    ${quoted(`${name}:${zshText(summary)}`)}`).join('\n')}
  )
  _arguments -C ${general} '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      case $words[1] in
        help) _arguments '1: :(${HELP_TOPICS.join(' ')})' ;;
${cases.join('\n')}
      esac ;;
  esac
}
if [ "$funcstack[1]" = _meanwhile ]; then _meanwhile "$@"; else compdef _meanwhile meanwhile; fi
`;
}

// --- fish ---

const fishText = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fishFlag(condition: string, [name, { value, short, help, complete }]: [FlagName, FlagDefinition]): string {
  const words = Array.isArray(complete) ? [`-x -a '${complete.join(' ')}'`] : [complete === undefined ? '-x' : '-r -F'];
  return [
    `complete -c meanwhile -n '${condition}'`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    `-l ${name}`,
    ...(value === undefined ? [] : words),
    `-d ${fishText(brief(help))}`,
  ].join(' ');
}

function fish(): string {
  const names = SUMMARIES.map(([name]) => name).join(' ');
  const seen = (name: string): string => `__fish_seen_subcommand_from ${name}`;
  const offer = (name: CommandName, words: readonly string[]): string => {
    const before = takesMany(name) ? '' : `; and not ${seen(words.join(' '))}`;
    return `complete -c meanwhile -n '${seen(name)}${before}' -a '${words.join(' ')}'`;
  };
  const commands = PUBLIC_COMMANDS.flatMap((name) => {
    const operands = operandsOf(name);
    return [
      ...(Array.isArray(operands) ? [offer(name, operands as readonly string[])] : []),
      ...flagsOf(name).map((flag) => fishFlag(seen(name), flag)),
    ];
  });
  return [
    '# fish completion of meanwhile',
    'complete -c meanwhile -f',
    ...SUMMARIES.map(
      ([name, summary]) => `complete -c meanwhile -n 'not ${seen(names)}' -a ${name} -d ${fishText(summary)}`,
    ),
    ...GENERAL_FLAGS.map((name) => fishFlag(`not ${seen(names)}`, [name, FLAGS[name]])),
    `complete -c meanwhile -n '${seen('help')}' -a '${HELP_TOPICS.join(' ')}'`,
    ...commands,
    '',
  ].join('\n');
}
