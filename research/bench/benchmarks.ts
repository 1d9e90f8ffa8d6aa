import type { Program } from "./side.ts";

/** What `--only` names: our side and its peers, which measure the same in turn. */
export interface Benchmark {
  readonly name: string;
  /** Run once beforehand, unless an earlier benchmark has run it. */
  readonly prepare: readonly Program[];
  readonly ours: Program;
  readonly peers: Readonly<Record<string, Program>>;
  /** What the sides are asked to measure; "" where there is no choice. */
  readonly requests: readonly string[];
  /** At most so many rounds, of those that are slow and steady. */
  readonly rounds?: number;
}

export interface Places {
  /** Temporary. */
  readonly folder: string;
  /** The model of the default environment. */
  readonly officeModel: string;
  readonly threads: number;
  /** True where peers are measured in bfloat16 too. */
  readonly bfloat16: boolean;
}

/** The rows of docs/performance.md: SmolLM2-135M with random weights, then rollouts of the default run. */
export function makeBenchmarks({ folder, officeModel, threads, bfloat16 }: Places): Benchmark[] {
  const model = `${folder}/words-135m`;
  const prepare: readonly Program[] = [{ script: "ours/words-model.ts", args: [model] }];
  const dtypes = bfloat16 ? ["float32", "bfloat16"] : ["float32"];
  const peersOf = (script: string, args: Program["args"], ...behind: Program["args"]) =>
    Object.fromEntries(dtypes.map((dtype) => [dtype, { script, args: [...args, dtype, ...behind] }]));

  /** Rows of unrelated tokens: no prefix is shared, nothing is padded. */
  const dense = (name: string, rows: number, length: number, kind: readonly string[] = []) => {
    const args = [model, threads, rows, length];
    const ours = { script: "ours/dense.ts", args: [...args, ...kind] };
    return { name, prepare, ours, peers: peersOf("peers/dense.py", args, ...kind), requests: [""] };
  };
  /** TRL in float32 with a static cache, as its best users set it. One peer at a time: each takes up to 17 GB. */
  const step = (name: string, cache: string, dtype: string): Benchmark => {
    const args = [model, threads, 2];
    const peers = { [`TRL ${dtype}`]: { script: "peers/step.py", args: [...args, cache, dtype] } };
    return { name, prepare, ours: { script: "ours/step.ts", args }, peers, requests: [""] };
  };
  const rollouts = [officeModel, threads, `${folder}/rollouts.json`];
  return [
    dense("smollm2-full", 4, 256),
    dense("smollm2-adapter", 4, 256, ["adapter"]),
    {
      ...{ name: "smollm2-sampling", prepare, requests: ["1 64 32", "8 64 32", "32 64 32"] },
      ours: { script: "ours/sampling.ts", args: [model, threads] },
      peers: { ...peersOf("peers/sampling.py", [model, threads]), "llama.cpp": { script: "peers/llama.ts", args: [threads] } },
    },
    step("smollm2-step", "static", "float32"),
    ...(bfloat16 ? [step("smollm2-step-bfloat16", "dynamic", "bfloat16")] : []),
    { ...dense("smollm2-8192", 1, 8192), rounds: 1 },
    {
      ...{ name: "training-rollouts", prepare: [{ script: "ours/record-rollouts.ts", args: rollouts }], requests: [""] },
      ours: { script: "ours/rollouts.ts", args: rollouts },
      peers: peersOf("peers/rollouts.py", rollouts, 16),
    },
  ];
}
