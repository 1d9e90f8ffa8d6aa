import { z } from "zod";
import { kindNames } from "./kinds.ts";
import type { WorldSize } from "./world.ts";

export const knowledgeSettingsSchema = z.strictObject({
  /** Chooses the kinds, and how much there is to search. */
  difficulty: z.enum(["small", "default", "large"]).default("default"),
  /** The kinds of question that occur. */
  kinds: z.array(z.enum(kindNames)).min(1).optional(),
  /** The share of names that two have, and of facts that a question needs which have a former value beside them. */
  ambiguity: z.number().min(0).max(1).default(0.5),
  /** The share of facts that a question needs which a page of a wrong source states otherwise. Above 0 every page names its source. */
  disputes: z.number().min(0).max(1).default(0.6),
  /** Pages that a search shows. */
  pages: z.int().min(1).max(10).default(2),
  /** exact: 1 for the right answer in the right format, else 0. arpo: ARPO's reward, from −1 to 1.1. */
  reward: z.enum(["exact", "arpo"]).default("exact"),
  /** The tool that answers a Python call: a calculator for one expression, or Python itself. */
  calculator: z.enum(["expressions", "python"]).default("expressions"),
  /** The prompt that explains how to call tools: the default model knows, others need it in full. */
  prompt: z.enum(["short", "full"]).default("short"),
  /** Calls that a response may make; one more ends it. */
  calls: z.int().min(1).default(8),
  /** Tokens of a response, results included. */
  responseTokens: z.int().min(1).default(512),
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
