/** docs/explanation/profiles.md: CPU profiles of the last measurement. */
import { existsSync, readFileSync } from 'node:fs';
import { type Profile, type ProfilesResult, profilesFile } from '../../bench/profiles/self-time.ts';
import { generatedPage, type Page, table } from './page.ts';

/** Returns the page, or an empty list if there are no results yet. */
export function profilesPages(): Page[] {
  if (!existsSync(profilesFile)) return [];
  const { provenance, profiles } = JSON.parse(readFileSync(profilesFile, 'utf8')) as ProfilesResult;
  const page = generatedPage(
    'docs/explanation/profiles.md',
    ['bench/results/profiles.json'],
    [
      '# Profiles',
      `\`${provenance.command}\` recorded the CPU profiles on this page with V8's sampling profiler (\`node --cpu-prof\`) on ${provenance.date}, ${provenance.machine}, Node.js ${provenance.node}. A function's share is its self time relative to the time in which its thread was not idle. [Benchmarks](benchmarks.md) report durations that were measured without a profiler.`,
      ...profiles.flatMap(sections),
    ],
  );
  return [page];
}

function sections({ what, top }: Profile): string[] {
  return [
    `## ${what}`,
    table(
      ['function', 'share'],
      top.map(({ where, share }) => [`\`${where}\``, `${(100 * share).toFixed(1)} %`]),
    ),
  ];
}
