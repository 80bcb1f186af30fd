/** Diagnoses in memory. */

import type { Diagnoses, DiagnosisFilter, DiagnosisStored } from '../../src/diagnosis/ports/diagnoses.ts';
import {
  type Diagnosis,
  isSameDiagnosis,
  nextStep,
  type StoredDiagnosis,
} from '../../src/diagnosis/rules/episode.ts';

export class MemoryDiagnoses implements Diagnoses {
  #kept: StoredDiagnosis[] = [];

  async current(pipeline: string): Promise<StoredDiagnosis | null> {
    return this.#kept.find((one) => one.pipeline === pipeline && one.closedAt === null) ?? null;
  }

  async open(): Promise<readonly StoredDiagnosis[]> {
    return this.#kept.filter(({ closedAt }) => closedAt === null);
  }

  async keep(diagnosis: Diagnosis, at: Date): Promise<DiagnosisStored> {
    const open = await this.current(diagnosis.pipeline);
    if (open === null) return this.#add(diagnosis, at, 'opened');
    if (open.revisedAt > at) return 'outdated';
    if (isSameDiagnosis(open, diagnosis)) return 'unchanged';
    const step = nextStep(open, diagnosis);
    if (step === 'stay') return 'unchanged';
    if (step === 'supersede') {
      await this.close(diagnosis.pipeline, at);
      return this.#add(diagnosis, at, 'superseded');
    }
    this.#replace({ ...open, ...diagnosis, revisedAt: at });
    return 'revised';
  }

  async close(pipeline: string, at: Date): Promise<boolean> {
    const open = await this.current(pipeline);
    if (open !== null) this.#replace({ ...open, closedAt: at });
    return open !== null;
  }

  async list({ pipeline, holding, before, limit }: DiagnosisFilter) {
    return this.#kept
      .filter((one) => pipeline === undefined || one.pipeline === pipeline)
      .filter(
        ({ openedAt, closedAt }) =>
          holding === undefined ||
          (openedAt <= holding.until && (closedAt === null || closedAt > holding.from)),
      )
      .filter(({ id }) => before === undefined || Number(id) < Number(before))
      .toReversed()
      .slice(0, limit);
  }

  async prune(before: Date): Promise<void> {
    this.#kept = this.#kept.filter(({ closedAt }) => closedAt === null || closedAt >= before);
  }

  #add<Stored extends DiagnosisStored>(diagnosis: Diagnosis, at: Date, stored: Stored): Stored {
    const id = String(this.#kept.length + 1);
    this.#kept.push({ ...diagnosis, id, openedAt: at, revisedAt: at, closedAt: null });
    return stored;
  }

  #replace(diagnosis: StoredDiagnosis): void {
    this.#kept = this.#kept.map((one) => (one.id === diagnosis.id ? diagnosis : one));
  }
}
