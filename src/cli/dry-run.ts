import { engineKind } from "../engines/registry.ts";
import { type Need, unmetNeeds } from "../training/config/capabilities.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";

/**
 * A run's settings, each with where it is from, and what its engine cannot honour. Nothing is started or contacted.
 * @param sources of the configuration file's values, by the settings' paths
 * @throws ConfigError where the configuration is wrong
 */
export function dryRunLines(
  user: UserConfig,
  flags: UserConfig,
  sources: Readonly<Record<string, string>> = {},
  notes: readonly string[] = [],
): string[] {
  const config = resolveConfig(user, flags);
  const [written, fromFlags] = [leaves(user), leaves(flags)];
  const source = (path: string, value: unknown) => {
    // A value of the file that another kind has replaced is not in effect, so values are compared too.
    const isIn = (settings: ReadonlyMap<string, unknown>) =>
      same(settings.has(path) ? settings.get(path) : shorthand(settings, path), value);
    if (isIn(fromFlags)) return "command line";
    if (isIn(written)) return sourceOf(sources, path) ?? "configuration file";
    return "default";
  };
  const settings = [...leaves(config)].map(([path, value]) => `  ${path} = ${JSON.stringify(value)}  [${source(path, value)}]`);

  const { certain, possible } = engineKind(config.engine).capabilities(config.engine);
  const missing = unmetNeeds(config, { capabilities: possible });
  const open = unmetNeeds(config, { capabilities: certain }).filter(({ capability }) => possible.includes(capability));
  return [
    "Settings:",
    ...settings,
    `The engine "${config.engine.kind}" cannot honour:`,
    ...list(missing),
    ...(open.length === 0 ? [] : ["Only known once the engine is there (a probe or the device decides):", ...list(open)]),
    ...(notes.length === 0 ? [] : ["Notes of the configuration file:", ...notes.map((note) => `  ${note}`)]),
    "Nothing was started.",
  ];
}

function list(needs: readonly Need[]): string[] {
  if (needs.length === 0) return ["  nothing of the above is refused"];
  return needs.map(
    ({ setting, value, capability, instead }) =>
      `  ${setting} = ${JSON.stringify(value)} needs "${capability}"${instead === "" ? "" : `; without it: ${instead}`}`,
  );
}

/** The source of a setting, or of the nearest part of the configuration that it is in. */
function sourceOf(sources: Readonly<Record<string, string>>, path: string): string | undefined {
  const parent = path.lastIndexOf(".");
  return sources[path] ?? (parent < 0 ? undefined : sourceOf(sources, path.slice(0, parent)));
}

/** Returns the setting that is a shorthand for the kind or name at `path`. */
function shorthand(settings: ReadonlyMap<string, unknown>, path: string): unknown {
  const parent = path.replace(/\.(kind|name)$/, "");
  return parent === path ? undefined : settings.get(parent);
}

/** Values by their paths. Lists and empty objects are values. */
function leaves(value: unknown, path = ""): Map<string, unknown> {
  if (value === undefined) return new Map();
  if (typeof value !== "object" || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    return new Map(path === "" ? [] : [[path, value]]);
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...leaves(inner, path === "" ? key : `${path}.${key}`)]));
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
