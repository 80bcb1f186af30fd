/** What a worker can be asked to compute. */
import { densityTasks } from '../../density/compute.ts';
import { goldenTasks } from '../../golden/golden-statistics.ts';

export const tasks = { ...goldenTasks, ...densityTasks } as const;
