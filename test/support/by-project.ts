/** Orders test files by project, so that a process reuses what it has loaded. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The project with the longest tests comes first, so that no file runs alone at the end. */
const ORDER = ['e2e', 'integration', 'unit'];

export class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the order that vitest gives them, not a list
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => ORDER.indexOf(a.project.name) - ORDER.indexOf(b.project.name));
  }
}
