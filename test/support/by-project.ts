/** The order of test files: those of a project follow each other, so that a process goes on with what it has loaded. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest first, so that at the end no file goes on alone. */
const ORDER = ['e2e', 'integration', 'unit'];

export class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the order that vitest gives them, not a list
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => ORDER.indexOf(a.project.name) - ORDER.indexOf(b.project.name));
  }
}
