import type { AlgorithmKind } from "./algorithms.ts";

/** An algorithm in the table of docs/algorithms, beside its composition. */
export interface About {
  readonly source: string;
  /** The credit, and the bound of a step, of an algorithm that is no composition. */
  readonly credit?: string;
  readonly bound?: string;
}

const seeupo = { credit: "`group-relative`, normalised over the batch, times M", bound: "`ppu`: turn, an update for each turn" };

export const algorithmSources: { readonly [Kind in AlgorithmKind]: About } = {
  seeupo: { ...seeupo, source: "arXiv:2602.06554" },
  "seeupo-code": { ...seeupo, credit: "the same, within ±3, M clipped", source: "modelscope/AgentEvolver" },
  "seeupo-scaled": { ...seeupo, credit: "as `seeupo-code`; updates of few rows are scaled or joined", source: "ours" },
  ppo: { source: "arXiv:1707.06347" },
  grpo: { source: "arXiv:2402.03300" },
  "dr-grpo": { source: "arXiv:2503.20783" },
  dapo: { source: "arXiv:2503.14476" },
  rloo: { source: "arXiv:2402.14740" },
  "reinforce++": { source: "arXiv:2501.03262" },
  "reinforce++-baseline": { source: "arXiv:2501.03262" },
  gspo: { source: "arXiv:2507.18071" },
  cispo: { source: "arXiv:2506.13585" },
  gigpo: { source: "arXiv:2505.10978" },
  arpo: { source: "arXiv:2507.19849" },
  custom: { credit: "any", bound: "any", source: "of each part" },
  sft: { credit: "cross-entropy of demonstrations", bound: "nothing", source: "common" },
};
