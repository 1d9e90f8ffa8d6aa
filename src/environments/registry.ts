import { ConfigError } from "../core/errors.ts";
import { didYouMean } from "../core/settings.ts";
import { defineEnvironment } from "./define.ts";
import type { Environment } from "./environment.ts";
import { officeEnvironment } from "./office/office.ts";

/** Makes an environment from its settings, which it checks itself. */
export type CreateEnvironment = (settings: unknown) => Environment;

/** Makes the environment at an address: names are `PREFIX:ADDRESS`. It checks the address and the settings. */
export type CreateRemoteEnvironment = (name: string, settings: unknown) => Environment;

/** No tasks to train on and no tools: what conversations are trained in that belong to no environment. */
const conversations = defineEnvironment({
  name: "conversations",
  tasks: { test: [{ prompt: "Hello." }] },
  start: () => ({ tools: [], reward: () => 0 }),
});

/** The environments that a configuration can name: those of the core, then those that extensions bring. */
const named = new Map<string, CreateEnvironment>([
  ["office", officeEnvironment],
  ["conversations", () => conversations],
]);

/** Environments on other servers, by the prefix of their names. */
const remote = new Map<string, CreateRemoteEnvironment>();

/** Adds environments that a configuration can name. Adding one again changes nothing. */
export function addEnvironments(
  environments: Readonly<Record<string, CreateEnvironment>> = {},
  wires: Readonly<Record<string, CreateRemoteEnvironment>> = {},
): void {
  for (const [name, create] of Object.entries(environments)) named.set(name, create);
  for (const [prefix, create] of Object.entries(wires)) remote.set(prefix, create);
}

/**
 * Creates an environment by its name.
 * @throws ConfigError if there is no environment of this name, or a setting of it is wrong
 * @example
 * const task = await createEnvironment("knowledge", {}).task("test", 0);
 */
export function createEnvironment(name: string, settings: unknown): Environment {
  const create = named.get(name);
  if (create !== undefined) return create(settings);
  const connect = remote.get(name.slice(0, Math.max(0, name.indexOf(":"))));
  if (connect !== undefined) return connect(name, settings);
  const names = [...named.keys(), ...[...remote.keys()].map((prefix) => `${prefix}:ADDRESS`)];
  throw new ConfigError("environment.name", name, {
    expected: names,
    hint: didYouMean(name, names) ?? "An environment of your own goes into retrograde.config.ts as an object.",
  });
}
