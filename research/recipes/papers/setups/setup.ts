import type { UserConfig } from "../../../../src/training/config/user-config.ts";

/** Settings by their paths, each with where its value is from. */
export type Table = Readonly<Record<string, readonly [value: unknown, source: string]>>;

export interface Setup {
  readonly config: UserConfig;
  readonly sources: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

/** A configuration of a table, so that no value is without a source. */
export function setup(table: Table, notes: readonly string[]): Setup {
  const root: Record<string, unknown> = {};
  for (const [path, [value]] of Object.entries(table)) {
    const keys = path.split(".");
    let parent = root;
    for (const key of keys.slice(0, -1)) {
      parent[key] ??= {};
      parent = parent[key] as Record<string, unknown>;
    }
    parent[keys[keys.length - 1]] = value;
  }
  const sources = Object.fromEntries(Object.entries(table).map(([path, [, source]]) => [path, source]));
  return { config: root, sources, notes };
}
