/** The tree of commands -> a completion script. */
import type { Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/** One command of the tree, by the words that call it. */
interface Word {
  readonly text: string;
  readonly description: string;
}

interface Place {
  /** Words after the name of the program, such as `golden run`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
}

/** Names hold letters, digits and hyphens alone, so that they need no quotes in any shell. */
export function completionScript(program: Command, shell: Shell): string {
  const name = program.name();
  const places = placesOf(program, '');
  switch (shell) {
    case 'bash':
      return bash(name, places);
    case 'zsh':
      return zsh(name, places);
    case 'fish':
      return fish(name, places);
  }
}

function placesOf(command: Command, path: string): Place[] {
  const help = command.createHelp();
  const place: Place = {
    path,
    commands: help
      .visibleCommands(command)
      .map((child) => ({ text: child.name(), description: child.description() })),
    options: help
      .visibleOptions(command)
      .flatMap(({ long, description }) => (long == null ? [] : [{ text: long, description }])),
  };
  return [
    place,
    ...command.commands.flatMap((child) => placesOf(child, `${path} ${child.name()}`.trimStart())),
  ];
}

/** The shell walks the words as long as they lead to a command, so that options and values in between do not matter. */
function bash(name: string, places: readonly Place[]): string {
  const children = places.flatMap(({ path, commands }) =>
    commands.map(({ text }) => `'${path} ${text}'`.replace("' ", "'")),
  );
  const words = ({ commands, options }: Place): string =>
    [...commands, ...options].map(({ text }) => text).join(' ');
  return `# Completion of ${name} for bash.
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' next='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    next="\${path:+$path }$word"
    case "$next" in
      ${children.join(' | ')}) path="$next" ;;
    esac
  done
  local words=''
  case "$path" in
${places.map((place) => `    '${place.path}') words='${words(place)}' ;;`).join('\n')}
  esac
  COMPREPLY=()
  while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}
complete -o default -F _${name} ${name}`;
}

function zsh(name: string, places: readonly Place[]): string {
  const children = places.flatMap(({ path, commands }) =>
    commands.map(({ text }) => `'${path} ${text}'`.replace("' ", "'")),
  );
  const described = ({ commands, options }: Place): string =>
    [...commands, ...options]
      .map(
        ({ text, description }) => `'${text}:${description.replaceAll("'", "'\\''").replaceAll(':', '\\:')}'`,
      )
      .join(' ');
  return `#compdef ${name}
# Completion of ${name} for zsh.
_${name}() {
  local place='' next='' index
  for ((index = 2; index < CURRENT; index++)); do
    next="\${place:+$place }\${words[index]}"
    case "$next" in
      ${children.join(' | ')}) place="$next" ;;
    esac
  done
  local -a offered
  case "$place" in
${places.map((place) => `    '${place.path}') offered=(${described(place)}) ;;`).join('\n')}
  esac
  _describe '${name}' offered || _files
}
if [ "$funcstack[1]" = _${name} ]; then _${name} "$@"; else compdef _${name} ${name}; fi`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function fish(name: string, places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const called = path === '' ? [] : path.split(' ');
    const seen = called.map((word) => `__fish_seen_subcommand_from ${word}`);
    const none =
      commands.length === 0
        ? []
        : [`not __fish_seen_subcommand_from ${commands.map(({ text }) => text).join(' ')}`];
    const condition = [...seen, ...none].join('; and ');
    const on = condition === '' ? '' : ` -n ${quote(condition)}`;
    return [
      ...commands.map(
        ({ text, description }) => `complete -c ${name}${on} -f -a ${text} -d ${quote(description)}`,
      ),
      ...options.map(
        ({ text, description }) => `complete -c ${name}${on} -l ${text.slice(2)} -d ${quote(description)}`,
      ),
    ];
  });
  return [`# Completion of ${name} for fish.`, ...lines].join('\n');
}
