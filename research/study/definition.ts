import { z } from "zod";
import { ConfigError } from "../../src/core/errors.ts";
import { isRecord } from "../../src/core/record.ts";
import { parseSettings } from "../../src/core/settings.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";

const name = z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "a name of small letters, digits and hyphens");
const settings = z.record(z.string(), z.unknown());
const texts = z.array(z.string()).default([]);
const seeds = z.array(z.int()).min(1);
const rates = z.array(z.number().positive()).min(1);
const firstSeed = 1;

const world = z.strictObject({
  title: z.string(),
  /** The purpose of the world, in a sentence or two. */
  about: z.string(),
  config: settings,
  /** Seconds that one run takes on one idle core, as measured. Decides the estimate of `--dry-run` alone. */
  secondsPerRun: z.number().positive(),
  /** Learning rates of its own, where the study's do not fit the length of its episodes. */
  rates: rates.optional(),
  /** Why no run of it can start yet. Its runs are planned and listed, and none is started. */
  pending: z.string().optional(),
});

const arm = z.strictObject({
  title: z.string(),
  /** Settings above those of the world. */
  config: settings,
  /** Worlds that it runs in. Default: all. */
  worlds: z.array(name).min(1).optional(),
  /** Learning rates of its own, by world: an arm of one step a batch and one of sixteen are alike at equal rate × steps. */
  rates: z.record(name, rates).default({}),
});

/** Runs of one arm at one learning rate; "best": the one that its tuning runs choose. */
const cell = z.tuple([name, name, z.union([z.number().positive(), z.literal("best")])]);

/** Two cells whose runs are paired by seed and task. */
const contrast = z.strictObject({
  title: z.string(),
  /** The outcome of a run that is compared: success at the end, of sampled or greedy attempts, or whether it fell. */
  outcome: z.enum(["sampled", "greedy", "fell"]).default("sampled"),
  more: cell,
  less: cell,
  /** Whether it is tested to be different from 0. Without it, it describes. */
  test: z.literal("different").optional(),
});

const question = z.strictObject({
  title: z.string(),
  /** The question, and the outcome that answers it: fixed before its runs. */
  ask: z.string(),
  /** The runs that are missing, and other things that are not known. */
  missing: z.string().optional(),
  /** The answer, as far as the runs that are there give one, in a sentence. */
  answer: z.string(),
  /** Reported seeds that each of its cells needs. */
  seeds: z.int().min(2),
  /** The first contrasts that are its primaries: two share the level, each at half of it. */
  primaries: z.int().min(1).max(2).default(1),
  /** Those after the primaries that have a test are looked at in turn, each only if all before it held; the rest describe. */
  contrasts: z.array(contrast).min(1),
});

const studySchema = z
  .strictObject({
    title: z.string(),
    /** The question that the study asks, fixed before the first run. */
    question: z.string(),
    /** Paragraphs of the page, above the results. */
    about: texts,
    /** The things that the study cannot say. */
    limitations: texts,
    /** The page, from the folder that the command runs in. Default: README.md beside the results. */
    page: z.string().optional(),
    worlds: z.record(name, world),
    arms: z.record(name, arm),
    /** Learning rates that every arm is tried at. */
    rates,
    /** Seeds of the runs by which each arm's rate is chosen, on the split `validation`. */
    tuningSeeds: seeds.default([101, 102]),
    /** Seeds of the runs that are reported, on the split `test`. */
    seeds: seeds.default(Array.from({ length: 10 }, (_, i) => firstSeed + i)),
    /** Where the set-up differs from the published one: what, published, here, why. */
    differences: z.array(z.tuple([z.string(), z.string(), z.string(), z.string()])).default([]),
    questions: z.record(name, question),
  })
  .superRefine((study, context) => {
    const wrong = (path: (string | number)[], message: string) => context.addIssue({ code: "custom", path, message });
    const shared = study.seeds.filter((seed) => study.tuningSeeds.includes(seed));
    if (shared.length > 0) wrong(["tuningSeeds"], `none of the reported seeds (${shared.join(", ")} is both)`);
    for (const [id, { contrasts, primaries }] of Object.entries(study.questions)) {
      for (let i = 0; i < primaries; i++)
        if (contrasts[i]?.test === undefined) wrong(["questions", id, "contrasts", i, "test"], "the test of the primary");
      for (const [i, contrast] of contrasts.entries())
        for (const [world, arm] of [contrast.more, contrast.less]) {
          const at = ["questions", id, "contrasts", i];
          if (!(world in study.worlds)) wrong([...at, world], "the name of a world");
          if (!(arm in study.arms)) wrong([...at, arm], "the name of an arm");
        }
    }
    for (const [id, { worlds = [] }] of Object.entries(study.arms))
      for (const [i, known] of worlds.entries())
        if (!(known in study.worlds)) wrong(["arms", id, "worlds", i], "the name of a world");
  });

export type Study = z.output<typeof studySchema> & { readonly name: string };

/** The default export of a file in `studies/`: its worlds and arms with settings as a configuration file has them. */
export type StudyDefinition = Omit<z.input<typeof studySchema>, "worlds" | "arms"> & {
  readonly worlds: Readonly<Record<string, Omit<z.input<typeof world>, "config"> & { readonly config: UserConfig }>>;
  readonly arms: Readonly<Record<string, Omit<z.input<typeof arm>, "config"> & { readonly config: UserConfig }>>;
};

/**
 * Checks a study: its own form, and the configuration of every arm in every world.
 * @throws ConfigError naming the first setting that is wrong
 */
export function parseStudy(id: string, exported: unknown): Study {
  const study = { name: id, ...parseSettings(studySchema, exported) };
  const [rate, seed] = [Math.min(...study.rates), Math.min(...study.seeds)];
  for (const world of Object.keys(study.worlds))
    for (const arm of armsOf(study, world)) configOf(study, { world, arm, rate, seed });
  return study;
}

/** The properties that distinguish the runs of a study. */
export interface RunKey {
  readonly world: string;
  readonly arm: string;
  readonly rate: number;
  readonly seed: number;
}

/** Runs of an arm in a world at a rate. */
export type Cell = z.output<typeof cell>;
export type Contrast = z.output<typeof contrast>;

/** Returns a world, an arm or a question of a study. @throws ConfigError where it has none of the name */
export function partOf<Kind extends "worlds" | "arms" | "questions">(
  study: Study,
  kind: Kind,
  name: string,
): Study[Kind][string] {
  const part = study[kind][name] as Study[Kind][string] | undefined;
  if (part !== undefined) return part;
  throw new ConfigError(`${kind} of ${study.name}`, name, { expected: Object.keys(study[kind]) });
}

/** Returns the arms that run in a world, in the order of the study. */
export function armsOf(study: Study, world: string): string[] {
  return Object.entries(study.arms).flatMap(([arm, { worlds }]) => (worlds?.includes(world) === false ? [] : [arm]));
}

/** Returns the learning rates that an arm is tried at in a world; without an arm, those of all arms, the smallest first. */
export function ratesOf(study: Study, world: string, arm?: string): readonly number[] {
  const { rates = study.rates } = partOf(study, "worlds", world);
  if (arm !== undefined) return partOf(study, "arms", arm).rates[world] ?? rates;
  const all = armsOf(study, world).flatMap((one) => ratesOf(study, world, one));
  return [...new Set(all)].sort((a, b) => a - b);
}

/** True if a run serves to choose a rate. */
export function isTuning(study: Study, { seed }: Pick<RunKey, "seed">): boolean {
  return study.tuningSeeds.includes(seed);
}

/**
 * Returns the settings of a run as they were written: the world's, the arm's above them, then rate, seed and the split that it is measured on.
 * Tuning runs are evaluated on `validation` without greedy attempts, reported ones on `test`.
 */
export function settingsOf(study: Study, key: RunKey): readonly [UserConfig, UserConfig] {
  const split = isTuning(study, key) ? "validation" : "test";
  const own = {
    seed: key.seed,
    optimizer: { learningRate: key.rate },
    evaluation: { split, during: { split }, ...(isTuning(study, key) ? { greedy: false } : {}) },
  };
  const [below, above] = [partOf(study, "worlds", key.world), partOf(study, "arms", key.arm)];
  return [below.config as UserConfig, merged(above.config, own) as UserConfig];
}

/** Returns the resolved configuration of a run, without its folder. @throws ConfigError naming the first setting that is wrong */
export function configOf(study: Study, key: RunKey): TrainingConfig {
  return resolveConfig(...settingsOf(study, key));
}

function merged(below: unknown, above: unknown): unknown {
  if (!isRecord(below) || !isRecord(above)) return above ?? below;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(below[key], above[key])]));
}
