/** Programs and files from Go modules. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from '../stores/install.ts';
import { workshop } from '../virtual-environment.ts';

/**
 * Builds the program of a Go package. Each package is built in a separate module that requires the package, because
 * `go install` refuses modules such as Compose's, which exclude versions of other modules.
 */
export async function goProgram(name: string, version = 'latest'): Promise<string> {
  const folder = path.join(workshop, 'go', name.replaceAll('/', '_'));
  const program = path.join(folder, 'program');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'go.mod'), 'module recalld.invalid/program\n');
  await run('go', ['get', '-tool', `${name}@${version}`], { cwd: folder });
  await run('go', ['build', '-mod=mod', '-o', program, name], { cwd: folder });
  return program;
}

/** Returns the folder with the files of a module. */
export async function goModule(name: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', `${name}@latest`], { cwd: '/' });
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}
