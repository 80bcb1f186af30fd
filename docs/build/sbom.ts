/** Writes sbom.cdx.json (CycloneDX): a release's production dependencies, which npm reads from package-lock.json. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

interface Bom {
  readonly metadata: { readonly component: object };
  readonly components: readonly { readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Lock {
  readonly packages: Readonly<Record<string, { name?: string; version: string; dev?: boolean }>>;
}

const options = ['--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];
const bom = JSON.parse(
  execFileSync('npm', ['sbom', ...options], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }),
) as Bom;
const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as Lock;

// In npm 11, `--omit=dev` also omits packages, such as zod, that both recalld and a development tool use.
const refs = new Set(
  Object.entries(packages)
    .filter(([, { dev }]) => dev !== true)
    .map(([at, { name, version }]) => `${name ?? at.replace(/^.*node_modules\//, '')}@${version}`),
);
const shipped = {
  ...bom,
  // Without this line, the application would be named after the build folder.
  metadata: { ...bom.metadata, component: { ...bom.metadata.component, name: packages['']?.name } },
  components: bom.components.filter((component) => refs.has(component['bom-ref'])),
  dependencies: bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) })),
};
writeFileSync(path.join(root, 'sbom.cdx.json'), `${JSON.stringify(shipped, null, 2)}\n`);
