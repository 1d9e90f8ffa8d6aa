import { z } from "zod";
import { type Act, actsOf } from "../core/acts.ts";
import { ConfigError } from "../core/errors.ts";
import { didYouMean } from "../core/settings.ts";
import { defineEnvironment } from "./define.ts";
import type { Environment } from "./environment.ts";

/** Makes an environment from its settings, which it checks itself. */
export type CreateEnvironment = (settings: unknown) => Environment;

/** Makes the environment at an address: names are `PREFIX:ADDRESS`. It checks the address and the settings. */
export type CreateRemoteEnvironment = (name: string, settings: unknown) => Environment;

/** An environment that a configuration can name, and what it does on this machine. */
export interface NamedEnvironment {
  readonly create: CreateEnvironment;
  /** Its settings, which `create` checks by the same schema: those that act are marked. */
  readonly settings: z.ZodType;
  /** Its acts beyond its own process, whatever its settings are. */
  readonly acts?: readonly Act[];
}

/** A way to reach environments on other servers. */
export interface Wire {
  readonly connect: CreateRemoteEnvironment;
  readonly settings: z.ZodType;
}

/** No tasks to train on and no tools: what conversations are trained in that belong to no environment. */
const conversations = defineEnvironment({
  name: "conversations",
  tasks: { test: [{ prompt: "Hello." }] },
  start: () => ({ tools: [], reward: () => 0 }),
});

/** The environments that a configuration can name: those of the core, then those that extensions bring. */
const named = new Map<string, CreateEnvironment | NamedEnvironment>([
  ["conversations", { create: () => conversations, settings: z.unknown() }],
]);

/** Environments on other servers, by the prefix of their names. */
const remote = new Map<string, Wire>();

/** Adds environments that a configuration can name. Adding one again changes nothing. A function alone is code of the user's own. */
export function addEnvironments(
  environments: Readonly<Record<string, CreateEnvironment | NamedEnvironment>> = {},
  wires: Readonly<Record<string, Wire>> = {},
): void {
  for (const [name, create] of Object.entries(environments)) named.set(name, create);
  for (const [prefix, wire] of Object.entries(wires)) remote.set(prefix, wire);
}

/** Returns what an environment does on this machine beyond playing, by its name and its recorded settings. */
export function environmentActs(name: string, settings: unknown): Act[] {
  const own = named.get(name);
  if (typeof own === "function") {
    const given = Object.keys(settings ?? {}).length > 0;
    return given ? [{ kind: "runs", what: `the code of the environment ${name} with settings that only it knows` }] : [];
  }
  if (own !== undefined) return [...(own.acts ?? []), ...settingsActs(own.settings, settings)];
  const [prefix, address] = wireOf(name);
  const wire = remote.get(prefix);
  return wire === undefined ? [] : [{ kind: "connects", what: address }, ...settingsActs(wire.settings, settings)];
}

/** Settings that are wrong do nothing: they are refused before anything begins. */
function settingsActs(schema: z.ZodType, settings: unknown): Act[] {
  const parsed = schema.safeParse(settings ?? {});
  return parsed.success ? actsOf(schema, parsed.data) : [];
}

/** The names of environments, and the prefixes of wires, with the schemas of their settings. */
export function environmentSchemas(): ReadonlyMap<string, z.ZodType | undefined> {
  const schemas = [...named].map(([name, entry]) => [name, typeof entry === "function" ? undefined : entry.settings] as const);
  return new Map([...schemas, ...[...remote].map(([prefix, { settings }]) => [`${prefix}:`, settings] as const)]);
}

function wireOf(name: string): [string, string] {
  const colon = Math.max(0, name.indexOf(":"));
  return [name.slice(0, colon), name.slice(colon + 1)];
}

/**
 * Creates an environment by its name.
 * @throws ConfigError if there is no environment of this name, or a setting of it is wrong
 * @example
 * const task = await createEnvironment("office", {}).task("test", 0);
 */
export function createEnvironment(name: string, settings: unknown): Environment {
  const own = named.get(name);
  if (own !== undefined) return typeof own === "function" ? own(settings) : own.create(settings);
  const wire = remote.get(wireOf(name)[0]);
  if (wire !== undefined) return wire.connect(name, settings);
  const names = [...named.keys(), ...[...remote.keys()].map((prefix) => `${prefix}:ADDRESS`)];
  throw new ConfigError("environment.name", name, {
    expected: names,
    hint: didYouMean(name, names) ?? "An environment of your own goes into retrograde.config.ts as an object.",
  });
}
