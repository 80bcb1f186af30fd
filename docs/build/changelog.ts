/** Returns why a changelog does not describe the release of `version`; null if it does. */
export function changelogProblem(text: string, version: string): string | null {
  const headings = [...text.matchAll(/^## \[?([^\]\s]+)/gm)].map(([, name = '']) => name);
  if (headings.some((name) => name.toLowerCase() === 'unreleased'))
    return `CHANGELOG.md has a section "Unreleased". Rename it to "${version}" before you release.`;
  if (headings[0] !== version)
    return `The first section of CHANGELOG.md is "${headings[0] ?? 'none'}". Add a section "${version}".`;
  return null;
}
