/** The form of the names of pipelines and golden sets, which become labels of metrics and parts of URLs. */
import { z } from 'zod';

export const nameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
  error: 'must be 1 to 100 of letters, digits, dot, dash and underscore',
});
