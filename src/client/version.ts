/** Version of the package. Written out, since the client must find it in bundles and on every runtime. */
export const version = '0.1.0';
