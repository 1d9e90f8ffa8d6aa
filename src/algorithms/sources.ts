import { presets } from "./presets/kinds.ts";

/** An algorithm in the table of docs/algorithms, beside its composition. */
export interface About {
  readonly source: string;
  /** The credit, and the bound of a step, of an algorithm that is no composition. */
  readonly credit?: string;
  readonly bound?: string;
}

const seeupo = { credit: "`group-relative`, normalised over the batch, times M", bound: "`ppu`: turn, an update for each turn" };

export const algorithmSources: Readonly<Record<string, About>> = {
  seeupo: { ...seeupo, source: "arXiv:2602.06554" },
  "seeupo-code": { ...seeupo, credit: "the same, within ±3, M clipped", source: "modelscope/AgentEvolver" },
  "seeupo-scaled": { ...seeupo, credit: "as `seeupo-code`; updates of few rows are scaled or joined", source: "ours" },
  ...Object.fromEntries(presets.map(({ settings, source }) => [settings.shape.kind.value, { source }])),
  custom: { credit: "any", bound: "any", source: "of each part" },
  sft: { credit: "cross-entropy of demonstrations", bound: "nothing", source: "common" },
};
