import { z } from "zod";
import { kindNames } from "./kinds.ts";
import type { WorldSize } from "./world.ts";

export const knowledgeSettingsSchema = z.strictObject({
  difficulty: z
    .enum(["small", "default", "large"])
    .default("default")
    .describe("`small` (four kinds of question, 16 documents or more), `default` (eight, 24) or `large` (eleven, 40)"),
  kinds: z.array(z.enum(kindNames)).min(1).optional().describe("kinds of question that occur; the difficulty's if omitted"),
  ambiguity: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe("share of names with two bearers, and of needed facts with a former value beside them"),
  disputes: z
    .number()
    .min(0)
    .max(1)
    .default(0.6)
    .describe("share of needed facts that a wrong source contradicts; above 0 every page names its source"),
  pages: z.int().min(1).max(10).default(2).describe("pages that a search shows"),
  reward: z
    .enum(["exact", "arpo"])
    .default("exact")
    .describe("`exact`: 1 for the right answer in the right format, else 0; `arpo`: ARPO's, from −1 to 1.1"),
  calculator: z
    .enum(["expressions", "python"])
    .default("expressions")
    .describe("answers a Python call: a calculator for one expression, or `python`"),
  prompt: z
    .enum(["short", "full"])
    .default("short")
    .describe("system message: `short` for the default model, `full` explains the protocol"),
  calls: z.int().min(1).default(8).describe("calls of a response; one more ends it"),
  responseTokens: z.int().min(1).default(512).describe("tokens of a response, results included"),
});

type Parsed = z.output<typeof knowledgeSettingsSchema>;

export type KnowledgeSettings = Required<Parsed> & {
  readonly size: WorldSize;
  /** The number of documents of a corpus, at least. */
  readonly documents: number;
};

const defaultKinds: NonNullable<Parsed["kinds"]> = [
  "fact",
  "two_hops",
  "three_hops",
  "calculate",
  "steps",
  "more",
  "total",
  "times",
];
const defaultSize: WorldSize = { people: 4, towns: 4, firms: 3, products: 3, countries: 2 };

export const difficulties: Readonly<Record<Parsed["difficulty"], Pick<KnowledgeSettings, "kinds" | "size" | "documents">>> = {
  small: { kinds: ["fact", "two_hops", "calculate", "times"], size: defaultSize, documents: 16 },
  default: { kinds: defaultKinds, size: defaultSize, documents: 24 },
  large: {
    kinds: [...kindNames],
    size: { people: 6, towns: 6, firms: 4, products: 4, countries: 3 },
    documents: 40,
  },
};

/** Fills in what the difficulty decides. */
export function completeSettings(settings: Parsed): KnowledgeSettings {
  const { kinds, size, documents } = difficulties[settings.difficulty];
  return { ...settings, kinds: settings.kinds ?? kinds, size, documents };
}
