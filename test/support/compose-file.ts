/** docker-compose.yml as Docker reads it, with the values from `.env` substituted. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

export interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly profiles?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly restart?: string;
}

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

export interface ReadCompose {
  readonly compose: ComposeFile;
  /**
   * Values of the variables that `.env` may set. Secrets are never in the repository, so each has a test value here.
   */
  readonly env: Readonly<Record<string, string>>;
  /** Substitutes `${NAME:-default}` and `${NAME:?why}` as Docker Compose does. */
  readonly filled: (text: string) => string;
}

export function readCompose(): ReadCompose {
  const compose = parse(read('docker-compose.yml'), { merge: true }) as ComposeFile;
  const lines = read('.env.example')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line));
  const env = Object.fromEntries(
    lines.map((line, index) => {
      const [name = ''] = line.split('=');
      return [name, line.slice(name.length + 1) || `not0a1secret${index}`];
    }),
  );
  const filled = (text: string): string =>
    text
      .replaceAll(
        /(?<!\$)\$\{(\w+)(?::[-?]([^}]*))?\}/g,
        (_, name: string) => env[name] ?? `<${name} is not in .env.example>`,
      )
      .replaceAll('$$', () => '$');
  return { compose, env, filled };
}
