import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Kills the process groups of our children when this process dies abruptly. It is one small
 * shell that reads the groups from its standard input, and acts when that input ends with groups left on the list.
 */
const SCRIPT = `
groups=" "
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -TERM -"$group" 2>/dev/null; done
[ "$groups" = " " ] || [ -z "\${groups## }" ] || sleep 1
for group in $groups; do kill -KILL -"$group" 2>/dev/null; done
`;

let shell: ChildProcess | undefined;
const watched = new Set<number>();

/** Watches over a process group until the returned function is called. */
export function watchGroup(group: number): () => void {
  if (process.platform === 'win32') return () => {};
  shell ??= startShell();
  watched.add(group);
  tell(`+ ${group}`);
  return () => {
    if (!watched.delete(group)) return;
    tell(`- ${group}`);
    if (watched.size > 0) return;
    shell?.stdin?.end();
    shell = undefined;
  };
}

function startShell(): ChildProcess {
  // In its own group, so that a signal from the terminal does not kill the watcher.
  const child = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.on('error', () => {
    // Without a shell, children are only killed on a clean exit.
    shell = undefined;
  });
  child.stdin?.on('error', () => {
    shell = undefined;
  });
  child.unref();
  return child;
}

function tell(line: string): void {
  shell?.stdin?.write(`${line}\n`);
}
