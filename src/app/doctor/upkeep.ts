/** The doctor on how the database is kept: dead rows are what makes a database slow that once was quick. */
import type { Upkeep } from '../../postgres/upkeep.ts';
import type { Finding } from './finding.ts';

/** Autovacuum comes when about a sixth of the rows is dead; fewer than these are nothing to speak of. */
const MANY_DEAD = { rows: 50_000, share: 0.4 };
const LONG_IDLE_SECONDS = 300;

type Judgement = Pick<Finding, 'status' | 'message'>;

/** What must be mended of it, or that all is well. */
export function judgeUpkeep({ isAutovacuumOn, neglected, worst, idle }: Upkeep, now: Date): Judgement[] {
  const found: Judgement[] = [];
  if (!isAutovacuumOn) {
    const message = 'Autovacuum is off on the server, so that dead rows pile up; set autovacuum = on there.';
    found.push({ status: 'wrong', message });
  }
  const [first] = neglected;
  if (first !== undefined) {
    const others = neglected.length === 1 ? '' : ` and ${neglected.length - 1} more`;
    const message = `Autovacuum is off for the table ${first}${others}; \`alter table ${first} reset (autovacuum_enabled)\` turns it on.`;
    found.push({ status: 'wrong', message });
  }
  if (worst !== null && worst.deadRows >= MANY_DEAD.rows && worst.deadShare >= MANY_DEAD.share) {
    const last =
      worst.vacuumedAt === null
        ? 'no vacuum is known'
        : `the last vacuum was ${minutes((now.getTime() - worst.vacuumedAt.getTime()) / 1000)} ago`;
    const message = `${Math.round(100 * worst.deadShare)} % of the rows of ${worst.table} are dead and ${last}; run \`vacuum ${worst.table}\`, and if they stay, end old transactions and unused replication slots.`;
    found.push({ status: 'warning', message });
  }
  const longest = idle.find(({ seconds }) => seconds >= LONG_IDLE_SECONDS);
  if (longest !== undefined) {
    const { pid, application, seconds } = longest;
    const message = `A session${application === '' ? '' : ` of "${application}"`} has waited within a transaction for ${minutes(seconds)} and keeps dead rows alive; end it there, or with \`select pg_terminate_backend(${pid})\`.`;
    found.push({ status: 'warning', message });
  }
  return found.length > 0
    ? found
    : [{ status: 'ok', message: 'Autovacuum is on and no table has many dead rows.' }];
}

function minutes(seconds: number): string {
  const count = Math.round(seconds / 60);
  return count === 1 ? '1 minute' : `${count} minutes`;
}
