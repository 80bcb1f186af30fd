/** What a worker can be asked to compute. */
import { densityTasks } from '../../density/tasks.ts';
import { goldenTasks } from '../../golden/tasks.ts';

export const tasks = { ...goldenTasks, ...densityTasks } as const;
