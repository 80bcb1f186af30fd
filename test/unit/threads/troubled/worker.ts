import { answerTasks } from '../../../../src/threads/tasks.ts';
import { tasks } from './tasks.ts';

answerTasks(tasks);
