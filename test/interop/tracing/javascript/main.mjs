/** Runs a program under an instrumentation, and prints what the program retrieved: main.mjs PROGRAM TRACING PACKAGE... */
import { write } from './recorder.mjs';

const [program, tracing, ...packages] = process.argv.slice(2);
// Only the recorder writes to stdout.
console.log = console.error;
const { start } = await import(`./${tracing}_tracing.mjs`);
const { withSession, stop } = await start();
const { run } = await import(`./${program}_program.mjs`);
await withSession(run);
await stop();
await write(packages);
