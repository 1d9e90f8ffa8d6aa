import { z } from "zod";
import type { Tokenizer } from "../chat/tokenizer.ts";
import { ConfigError } from "../core/errors.ts";
import type { Capability } from "../core/policy.ts";
import type { Engine } from "./engine.ts";

/** The kinds of engines by their names, with the schemas of their settings. Extensions declare theirs here, so that the compiler checks configurations. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled where extensions are listed
export interface EngineSettings {}

type Kind = keyof EngineSettings;

/** The settings of an engine, whole. */
export type EngineConfig = { [Name in Kind]: { kind: Name } & z.output<EngineSettings[Name]> }[Kind];

/** The settings of an engine as a user writes them. */
export type EngineInput = { [Name in Kind]: { kind: Name } & z.input<EngineSettings[Name]> }[Kind];

/** The settings of a kind that needs none, without the kind: those of the default. */
export type EngineShorthand = {
  [Name in Kind]: object extends z.input<EngineSettings[Name]> ? z.input<EngineSettings[Name]> : never;
}[Kind];

/** The use of an engine that memory depends on, beside the engine's own settings. */
export interface EngineUse {
  /** Sampling alone, or training too. */
  readonly training: boolean;
  /** Tokens of the longest sequence, where the engine's settings set no other limit. */
  readonly length: number;
  /** Trajectories of an update. */
  readonly trajectories?: number;
  /** Actions that are sampled at a time. */
  readonly concurrency: number;
  /** Steps whose rollouts are sampled while others are trained. Default 0. */
  readonly ahead?: number;
  /** Whether a copy of what learns is kept as the reference of a KL term. */
  readonly reference?: boolean;
  /** Whether a critic is trained beside the policy. */
  readonly critic?: boolean;
}

export interface EnginePurpose {
  /** The use that the model is for: whether the machine's memory suffices is then checked before anything is loaded. */
  readonly use?: EngineUse;
  /** Decides the first values of a new adapter. Default 0. */
  readonly seed?: number;
}

/** The parts of the model that an engine is given, besides its settings. */
export interface ModelParts {
  readonly folder: string;
  readonly tokenizer: Tokenizer;
}

export interface OpenedEngine {
  readonly engine: Engine;
  /** The device that computes, in words for people. */
  readonly device: string;
}

/** Capabilities that an engine surely has before it is opened, and those that it may have. */
export interface CapabilityRange {
  readonly certain: readonly Capability[];
  readonly possible: readonly Capability[];
}

export interface Finding {
  readonly state: "good" | "doubtful" | "bad";
  readonly text: string;
  /** Says what to do about it. */
  readonly advice?: string;
  /** The measured values, for programs that read them. */
  readonly values?: Readonly<Record<string, unknown>>;
}

/** The checks of `doctor` for an engine. */
export interface EngineDiagnosis {
  /** Checks of this machine, in their order, by their names. Nothing is sampled where a required one fails. */
  readonly machine: readonly {
    readonly name: string;
    readonly check: () => Finding | Promise<Finding>;
    readonly required?: true;
  }[];
  describe(folder: string): Promise<Finding>;
  /** Says what memory the model takes. */
  memory(folder: string, sampling: EngineUse, training: EngineUse): Promise<Finding>;
  /** Measures the model on a device that was asked for. Not tried where a required check fails. */
  speed?(folder: string): Promise<Finding>;
}

/** Models in other files than a folder in Hugging Face's format, of which such folders are made. */
export interface ModelFiles {
  /** The forms of their names, for errors. */
  readonly names: readonly string[];
  /** The file that a name means; undefined for other names. */
  find(name: string): string | undefined;
  /** The files of a repository that belong to one of them. */
  parts(file: string): Promise<readonly string[]>;
  /** A folder in Hugging Face's format. */
  folder(file: string): Promise<string>;
  /** The places outside of a folder that its weights are read from, and whether this machine wrote their names. */
  elsewhere(folder: string): Promise<{ readonly places: readonly string[]; readonly isOwn: boolean }>;
}

/** A kind of engine that a configuration can choose. */
export interface EngineKind<Settings extends z.ZodObject = z.ZodObject> {
  /** Its settings. `kind` is added to them. */
  readonly settings: Settings;
  /** @throws ConfigError for settings that exclude each other */
  check?(settings: z.output<Settings>): void;
  /** Settings of the whole configuration that its own imply, below what the user wrote. @param given not checked yet */
  implies?(given: Readonly<Record<string, unknown>>): object | undefined;
  capabilities(settings: z.output<Settings>): CapabilityRange;
  open(settings: z.output<Settings>, model: ModelParts, purpose: EnginePurpose): Promise<OpenedEngine>;
  /**
   * Present where the engine computes on this machine, and so needs the weights here: looks at a model's config.json before they are fetched or read.
   * @param name of the model, for errors
   * @throws ModelError for a model that it does not compute; EngineError if it takes more memory than there is
   */
  inspect?(file: string, name: string, settings: z.output<Settings> | undefined, use: EngineUse | undefined): Promise<void>;
  diagnose?(settings: z.output<Settings>): Promise<EngineDiagnosis>;
  /** They are found whichever engine a run has: a folder has the tokenizer too. */
  readonly models?: ModelFiles;
}

const kinds = new Map<string, EngineKind>();

/** Adds kinds of engines, before a configuration is read. Adding one again changes nothing. The first is that of a configuration which names none. */
export function addEngines(engines: Readonly<Record<string, EngineKind>> = {}): void {
  for (const [name, kind] of Object.entries(engines)) kinds.set(name, kind);
}

/** The kind of a configuration that names none. @throws ConfigError if there is no engine at all */
export function defaultEngine(): string {
  const [first] = kinds.keys();
  if (first !== undefined) return first;
  throw new ConfigError("engine.kind", undefined, {
    expected: "an engine, and this program has loaded none",
    hint: 'Import "retrograde-rl", which adds its engines.',
  });
}

/** The kind of an engine; the default for none. Undefined for a name that is not known. */
export function findEngine(name = defaultEngine()): EngineKind | undefined {
  return kinds.get(name);
}

/** The kind of an engine whose settings were checked. */
export function engineKind(config: { readonly kind: string } | undefined): EngineKind {
  const kind = findEngine(config?.kind);
  if (kind === undefined) throw new ConfigError("engine.kind", config?.kind, { expected: [...kinds.keys()] });
  return kind;
}

/** The models of other files that engines here read. */
export function modelFiles(): ModelFiles[] {
  return [...kinds.values()].flatMap(({ models }) => models ?? []);
}

/** One of the engines' settings, chosen by `kind`. */
export const engineSchema = z.lazy(() => {
  const [first, ...others] = [...kinds].map(([name, { settings }]) =>
    z.strictObject({ kind: z.literal(name), ...settings.shape }),
  );
  return first === undefined ? z.never() : z.discriminatedUnion("kind", [first, ...others]);
}) as unknown as z.ZodType<EngineConfig, EngineInput>;
