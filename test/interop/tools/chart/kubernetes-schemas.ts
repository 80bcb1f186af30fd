/** Schemas of the Kubernetes API, for kubeconform. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { workshop } from '../../virtual-environment.ts';
import { goModule } from '../go-modules.ts';

interface Definition {
  readonly properties?: object;
  readonly format?: string;
  readonly type?: string;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

/** For each kind, writes a schema that refuses unknown fields. Returns the path pattern of the schema files. */
export async function kubernetesSchemas(): Promise<string> {
  const source = path.join(await goModule('k8s.io/kubernetes'), 'api/openapi-spec/swagger.json');
  const swagger = JSON.parse(readFileSync(source, 'utf8')) as { readonly definitions: Record<string, Definition> };
  const definitions = Object.fromEntries(
    Object.entries(swagger.definitions).map(([name, definition]) => [name, strict(name, definition)]),
  );
  const folder = path.join(workshop, 'kubernetes-schemas');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'definitions.json'), JSON.stringify({ definitions }));
  for (const [name, { 'x-kubernetes-group-version-kind': kinds = [] }] of Object.entries(swagger.definitions)) {
    for (const { group, version, kind } of kinds) {
      const suffix = [group.split('.')[0], version].filter((part) => part !== '').join('-');
      const schema = { $ref: `definitions.json#/definitions/${name}` };
      writeFileSync(path.join(folder, `${kind}-${suffix}.json`.toLowerCase()), JSON.stringify(schema));
    }
  }
  return path.join(folder, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
}

function strict(name: string, definition: Definition): object {
  if (definition.format === 'int-or-string' || name.endsWith('.Quantity')) return { type: ['string', 'number'] };
  return definition.properties === undefined ? definition : { ...definition, additionalProperties: false };
}
