/** Code of an error of the system (`ENOENT`) or of PostgreSQL (`3D000`); undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
