import { isRecord } from "../../core/record.ts";
import type { UserConfig } from "./user-config.ts";

/** The settings of a configuration that says nothing of them. */
export interface Defaults {
  /** The environment of runs that name none. */
  readonly environment?: string;
  /** By an environment's name: settings that runs in it begin with. */
  readonly settings?: Readonly<Record<string, DefaultSettings>>;
}

/** @param algorithm its kind and the settings that were given */
export type DefaultSettings = (
  algorithm: Readonly<Record<string, unknown>>,
) => Omit<UserConfig, "environment" | "algorithm"> | undefined;

let environment: string | undefined;
const settings = new Map<string, DefaultSettings>();

/** Adds what extensions choose. Adding one again changes nothing. */
export function addDefaults(defaults: Defaults): void {
  environment = defaults.environment ?? environment;
  for (const [name, choose] of Object.entries(defaults.settings ?? {})) settings.set(name, choose);
}

/** The environment of a run that names none; undefined where no extension has one. */
export function defaultEnvironment(): { readonly name: string } | undefined {
  return environment === undefined ? undefined : { name: environment };
}

/** Returns what the environment of a configuration chooses. */
export function chosenByEnvironment({ environment, algorithm }: Readonly<Record<string, unknown>>): unknown {
  if (!isRecord(environment) || !isRecord(algorithm) || typeof environment.name !== "string") return undefined;
  return settings.get(environment.name)?.(algorithm);
}
