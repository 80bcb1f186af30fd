/** Programs and files from Go modules. */
import path from 'node:path';
import { run } from '../stores/install.ts';
import { workshop } from '../virtual-environment.ts';

/** Returns the program that `go install` builds from the newest version of a package. */
export async function goProgram(name: string): Promise<string> {
  const bin = path.join(workshop, 'go', name.replaceAll('/', '_'));
  await run('go', ['install', `${name}@latest`], { env: { ...process.env, GOBIN: bin }, cwd: '/' });
  return path.join(bin, path.basename(name));
}

/** Returns the folder with the files of a module. */
export async function goModule(name: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', `${name}@latest`], { cwd: '/' });
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}
