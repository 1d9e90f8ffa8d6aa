import { addEngines, type EngineKind } from "./engines/registry.ts";
import { addEnvironments, type CreateEnvironment, type NamedEnvironment, type Wire } from "./environments/registry.ts";
import { addRewards } from "./rewards/kinds.ts";
import type { RewardKind } from "./rewards/reward-kind.ts";
import { addDiagnosis, type Diagnose } from "./sdk/diagnoses.ts";
import { addDefaults, type Defaults } from "./training/config/defaults.ts";
import { addConversationFormats, type ConversationFormat } from "./training/supervised/formats.ts";

/** A part that the core does not know: it brings what a configuration can name. Its commands are listed in extensions/commands.ts. */
export interface Extension {
  readonly environments?: Readonly<Record<string, CreateEnvironment | NamedEnvironment>>;
  /** Environments on other servers, by the prefix of their names (`PREFIX:ADDRESS`). */
  readonly wires?: Readonly<Record<string, Wire>>;
  /** Engines, by the kind that a configuration names. */
  readonly engines?: Readonly<Record<string, EngineKind>>;
  readonly rewards?: Readonly<Record<string, RewardKind>>;
  readonly defaults?: Defaults;
  /** A look at this machine, for `doctor`. */
  readonly diagnose?: Diagnose;
  /** Formats of conversations to learn from. */
  readonly conversations?: readonly ConversationFormat[];
}

/** Adds what extensions bring. Adding one again changes nothing. */
export function useExtensions(extensions: readonly Extension[]): void {
  for (const { environments, wires, engines, rewards = {}, defaults, diagnose, conversations = [] } of extensions) {
    addEnvironments(environments, wires);
    addEngines(engines);
    addConversationFormats(conversations);
    addRewards(rewards);
    if (defaults !== undefined) addDefaults(defaults);
    if (diagnose !== undefined) addDiagnosis(diagnose);
  }
}
