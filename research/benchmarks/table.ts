export interface Benchmark {
  /** Names of its file, as ARPO's repository and its own have it; the first that is there is read. */
  readonly files: readonly string[];
  /** Mathematics is scored by the equality of formulas, questions by token F1. */
  readonly ability: "math" | "qa";
}

const fileNames = (name: string): string[] => [`${name}.jsonl`, `${name}.jsonl.gz`, `${name}.parquet`];

/**
 * The benchmarks of ARPO (arXiv:2507.19849, §4.1) and SimpleQA. Their questions are not part of this package: a folder with ARPO's `evaluation/data`
 * files is named by `data`.
 */
export const benchmarks = {
  aime24: { files: fileNames("aime24"), ability: "math" },
  aime25: { files: fileNames("aime25"), ability: "math" },
  math500: { files: fileNames("math500"), ability: "math" },
  gsm8k: { files: fileNames("gsm8k"), ability: "math" },
  math: { files: fileNames("math"), ability: "math" },
  webwalker: { files: fileNames("webwalker"), ability: "qa" },
  hotpotqa: { files: fileNames("hotpotqa"), ability: "qa" },
  "2wiki": { files: fileNames("2wiki"), ability: "qa" },
  musique: { files: fileNames("musique"), ability: "qa" },
  bamboogle: { files: fileNames("bamboogle"), ability: "qa" },
  gaia: { files: fileNames("gaia"), ability: "qa" },
  hle: { files: [...fileNames("hle-top500"), ...fileNames("hle")], ability: "qa" },
  xbench: { files: fileNames("xbench"), ability: "qa" },
  simpleqa: { files: [...fileNames("SimpleQA"), ...fileNames("simpleqa")], ability: "qa" },
} as const satisfies Record<string, Benchmark>;

export type BenchmarkName = keyof typeof benchmarks;
