import { isGpu } from "../../extensions/local/machine/device.ts";
import { parameterCount } from "../../extensions/local/model/model-config.ts";
import { chosenDevice } from "./device.ts";
import { benchmarkModels } from "./model.ts";
import type { Rates } from "./rate.ts";
import { nodeCommand, type Program } from "./side.ts";

/** What `--only` names: some sides that are measured in turn, and the entries that are made of what they tell. */
export interface Benchmark {
  readonly name: string;
  /** Run once beforehand, unless an earlier benchmark has run it. */
  readonly prepare: readonly Program[];
  readonly sides: Readonly<Record<string, MeasuredProgram>>;
  readonly entries: readonly Entry[];
}

export interface MeasuredProgram extends Program {
  /** At most so many rounds, of those that are slow and steady. */
  readonly rounds?: number;
}

/** One line of the table: `ratio` is ours / peer, where there is something to compare with. */
export interface Entry {
  readonly name: string;
  readonly unit: string;
  /** What the sides are asked to measure; "" where there is no choice. */
  readonly request: string;
  readonly ours: Source;
  readonly peer?: Source & {
    /** Where the side's own name does not tell. */
    readonly name?: string;
    /** Other sides that do the same: the one with the best median is the peer. */
    readonly or?: readonly string[];
  };
  /** What the machine would reach if nothing but products and bytes took time, in the entry's unit. */
  readonly limit?: (rates: Rates) => number;
  /** What the ratio should be, or ours where there is no peer; reported only where there is none. */
  readonly target?: Target;
}

export type Target = { readonly atLeast: number } | { readonly atMost: number };

export function meets(target: Target, value: number): boolean {
  return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}

/** A quantity that a side measures. */
export interface Source {
  readonly side: string;
  readonly of: string;
}

export interface Places {
  /** Temporary. */
  readonly folder: string;
  /** The model of the default environment. */
  readonly officeModel: string;
  /** That of the office of before, whose episodes of one request TRL's tools can play. */
  readonly threads: number;
  /** True where peers are measured in bfloat16 too. */
  readonly bfloat16: boolean;
}

/** Operations of training a token in a row of T: 6 N + 12 L H Q T (PaLM, arXiv:2204.02311, appendix B). */
function trainingLimit(model: string, length: number): Entry["limit"] {
  const config = benchmarkModels[model];
  const operations = 6 * parameterCount(config) + 12 * config.layers * config.heads * config.headDim * length;
  return ({ gflops }) => (gflops * 1e9) / operations;
}

/**
 * Tokens per second of decoding: products take 2 N + 4 L H Q T operations a token, and every step reads the weights once and the keys and values of
 * every row. The limit is the slower of the two, as if they overlapped.
 */
function decodingLimit(model: string, rows: number, length: number): Entry["limit"] {
  const config = benchmarkModels[model];
  const { layers, heads, kvHeads, headDim } = config;
  const operations = rows * (2 * parameterCount(config) + 4 * layers * heads * headDim * length);
  const bytes = 4 * (parameterCount(config) + rows * 2 * layers * kvHeads * headDim * length);
  return ({ gflops, gigabytes }) => rows / Math.max(operations / (gflops * 1e9), bytes / (gigabytes * 1e9));
}

/** For whoever asks for the benchmarks' names alone. */
export const nowhere: Places = { folder: "", officeModel: "", threads: 1, bfloat16: true };

export function makeBenchmarks({ folder, officeModel, threads, bfloat16 }: Places): Benchmark[] {
  const onlyWithBfloat16 = <T>(all: readonly T[]): readonly T[] => (bfloat16 ? all : []);
  const models = (...names: readonly string[]): Program => ({ script: "ours/models.ts", args: [folder, ...names] });
  const batch = `${folder}/rollouts.json`;
  const recorded: Program = { script: "ours/record-rollouts.ts", args: [officeModel, threads, batch] };

  /**
   * Rows of unrelated tokens: no prefix is shared, nothing is padded.
   * @param size rows and tokens of each
   * @param modes those of PyTorch, the first of which has the target
   */
  const denseTraining = (
    name: string,
    model: string,
    size: readonly [number, number],
    { modes, adapter = false, rounds }: { modes: readonly string[]; adapter?: boolean; rounds?: number },
  ): Benchmark => {
    const args = [`${folder}/${model}`, threads, ...size];
    const kind = adapter ? ["adapter"] : [];
    const limit = adapter ? undefined : trainingLimit(model, size[1]);
    const speed = { unit: "tokens/s", request: "", ours: { side: "ours", of: "tokensPerSecond" }, limit };
    const memory = { unit: "MB", request: "", ours: { side: "ours", of: "peakMegabytes" } };
    const measured = modes.filter((mode) => mode !== "bfloat16" || bfloat16);
    return {
      name,
      prepare: [models(model)],
      sides: {
        ours: { script: "ours/dense.ts", args: [...args, ...kind], rounds },
        ...Object.fromEntries(
          measured.map((mode) => [mode, { script: "peers/dense.py", args: [...args, mode, ...kind], rounds }]),
        ),
      },
      entries: measured.flatMap((mode, i) => [
        {
          ...{ ...speed, name: i === 0 ? name : `${name}-${mode}`, peer: { side: mode, of: "tokensPerSecond" } },
          ...(i === 0 && { target: { atLeast: 1.2 } }),
        },
        ...(i === 0 ? [{ ...memory, name: `${name}-memory`, peer: { side: mode, of: "peakMegabytes" } }] : []),
      ]),
    };
  };

  /** One padded sequence for each trajectory is the least that an engine without tries can compute; one for each turn is its general form. */
  const rolloutTraining = (): Benchmark => {
    const args = [officeModel, threads, batch];
    const peer = (form: string, ...dtype: readonly string[]) => ({
      script: "peers/rollouts.py",
      args: [...args, form, 16, ...dtype],
    });
    const speed = { unit: "tokens/s", request: "", ours: { side: "ours", of: "tokensPerSecond" } };
    const memory = { unit: "MB", request: "", ours: { side: "ours", of: "peakMegabytes" } };
    const name = "training-rollouts";
    return {
      name,
      prepare: [recorded],
      sides: {
        ours: { script: "ours/rollouts.ts", args },
        trajectories: peer("trajectories"),
        turns: peer("turns"),
        ...(bfloat16 ? { bfloat16: peer("trajectories", "bfloat16") } : {}),
      },
      entries: [
        { ...speed, name, peer: { side: "trajectories", of: "tokensPerSecond" }, target: { atLeast: 3 } },
        ...onlyWithBfloat16([{ ...speed, name: `${name}-bfloat16`, peer: { side: "bfloat16", of: "tokensPerSecond" } }]),
        { ...memory, name: `${name}-memory`, peer: { side: "trajectories", of: "peakMegabytes" }, target: { atMost: 0.6 } },
        { ...speed, name: `${name}-per-turn`, peer: { side: "turns", of: "tokensPerSecond" }, target: { atLeast: 3 } },
        { ...memory, name: `${name}-per-turn-memory`, peer: { side: "turns", of: "peakMegabytes" }, target: { atMost: 0.6 } },
      ],
    };
  };

  const updates = (): Benchmark => {
    const ours = (of: string) => ({ side: "ours", of });
    const grpo = { ...ours("grpoSeconds"), name: "one GRPO update of the same batch on this engine" };
    const time = { unit: "s", ours: ours("seeupoSeconds"), peer: grpo };
    const name = "update-seeupo";
    return {
      name,
      prepare: [recorded],
      sides: { ours: { script: "ours/updates.ts", args: [officeModel, threads, batch] } },
      entries: [
        {
          name: `${name}-passes`,
          unit: "token-passes",
          request: "all turns",
          ours: ours("seeupoPasses"),
          peer: { ...ours("referencePasses"), name: "reference procedure, counted" },
          target: { atMost: 0.4 },
        },
        { ...time, name: `${name}-time`, request: "all turns" },
        { ...time, name: `${name}-time-5-turns`, request: "5 turns", target: { atMost: 3 } },
      ],
    };
  };

  const words = (model: string): Program => ({ script: "ours/words-model.ts", args: [`${folder}/words-${model}`, model] });
  /** TRL with a static cache, as its best users set it; the cache that grows, which is its default, is reported. */
  const trainingSteps = (
    name: string,
    works: readonly { suffix: string; own: readonly (string | number)[]; command?: readonly string[]; target?: number }[],
    kinds: readonly string[],
    prepare: readonly Program[],
  ): Benchmark => {
    const measured = kinds.filter((kind) => !kind.includes("bfloat16") || bfloat16);
    const suffixOf = (kind: string) => (kind === kinds[0] ? "" : `-${kind.replace(" float32", "").replace("static ", "")}`);
    return {
      name,
      prepare,
      sides: Object.fromEntries(
        works.flatMap(({ suffix, own, command = [] }) => [
          [`ours${suffix}`, { script: "ours/step.ts", args: own }],
          ...measured.map((kind) => {
            const [model, count, tasks, task] = own;
            const args = [model, count, tasks, ...kind.split(" "), task, ...command];
            return [`trl${suffix} ${kind}`, { script: "peers/step.py", args }] as const;
          }),
        ]),
      ),
      entries: works.flatMap(({ suffix, target }) => {
        const entry = (kind: string, of: string) => ({
          ...{ request: "", ours: { side: `ours${suffix}`, of }, peer: { side: `trl${suffix} ${kind}`, of } },
        });
        return [
          ...measured.map((kind) => ({
            ...{ ...entry(kind, "rolloutsPerSecond"), name: name + suffix + suffixOf(kind), unit: "rollouts/s" },
            ...(kind === kinds[0] && target !== undefined && { target: { atLeast: target } }),
          })),
          { ...entry(kinds[0], "peakMegabytes"), name: `${name}${suffix}-memory`, unit: "MB" },
        ];
      }),
    };
  };

  /** `generate` with whatever cache is fastest in float32; in bfloat16, and llama.cpp where it is installed, are reported. */
  const sampling = (
    name: string,
    model: string,
    cases: readonly { rows: number; cached: number; fresh: number }[],
    caches: readonly [string, ...string[]],
    peers: Readonly<Record<string, Program>> = {},
  ): Benchmark => {
    const args = [`${folder}/${model}`, threads];
    const generate = (...form: readonly string[]) => ({
      ...{ script: "peers/sampling.py", args: [...args, ...form], rounds: form[0] === "static-compile" ? 1 : 2 },
    });
    const [first, ...others] = caches;
    return {
      name,
      prepare: [models(model)],
      sides: {
        ours: { script: "ours/sampling.ts", args },
        ...Object.fromEntries(caches.map((cache) => [cache, generate(cache, "float32")])),
        ...(bfloat16 ? { bfloat16: generate("static", "bfloat16") } : {}),
        ...peers,
      },
      entries: cases.flatMap(({ rows, cached, fresh }): Entry[] => {
        const own = `${name}-batch-${rows}-cached-${cached}`;
        const ours = { side: "ours", of: "tokensPerSecond" };
        const limit = decodingLimit(model, rows, cached + fresh / 2);
        const speed = { unit: "tokens/s", request: `${rows} ${cached} ${fresh}`, ours, limit };
        return [
          { ...speed, name: own, peer: { ...ours, side: first, or: others }, target: { atLeast: 4 } },
          ...onlyWithBfloat16([{ ...speed, name: `${own}-bfloat16`, peer: { ...ours, side: "bfloat16" } }]),
          ...Object.keys(peers).map((side) => ({ ...speed, name: `${own}-${side}`, peer: { ...ours, side } })),
        ];
      }),
    };
  };

  /** Three steps of the default run, with its evaluations of 16 tasks, in a process of their own: as it is, and with workers, each beside one thread. */
  const defaultRun = (): Benchmark => {
    const side = (of: number, workers: number) => ({ script: "ours/default-run.ts", args: [of, workers], rounds: 2 });
    const entry = (name: string, ours: string): Entry => ({
      ...{ name, unit: "s", request: "", ours: { side: ours, of: "seconds" } },
      peer: { side: "one thread", of: "seconds", name: "ours with one thread" },
    });
    return {
      ...{ name: "default-run", prepare: [] },
      sides: { ours: side(threads, 1), workers: side(threads, threads), "one thread": side(1, 1) },
      entries: [entry("default-run", "ours"), entry("default-run-workers", "workers")],
    };
  };

  /** Here ours is what dense training reaches, and the peer is what matrix products alone reach. */
  const shareOfPeak = (): Benchmark => {
    const args = (model: string) => [`${folder}/${model}`, threads, 8, 512];
    const entry = (model: string): Entry => ({
      name: `matmul-peak-${model}`,
      unit: "GFLOP/s",
      request: "peak",
      ours: { side: model, of: "gflops" },
      peer: { side: model, of: "peakGflops", name: "float32 products of 1,024 × 1,024 in ONNX Runtime" },
      target: { atLeast: 0.5 },
    });
    return {
      name: "matmul-peak",
      prepare: [models("5m", "27m")],
      sides: { "5m": { script: "ours/dense.ts", args: args("5m") }, "27m": { script: "ours/dense.ts", args: args("27m") } },
      entries: [entry("5m"), entry("27m")],
    };
  };

  /** What the trie is worth: the same samples, of which less and less may be shared. */
  const trees = (): Benchmark => {
    const file = `${folder}/trees.json`;
    const args = [officeModel, threads, file];
    const side = (form: string, rounds?: number) => ({ script: "ours/trees.ts", args: [...args, form], rounds });
    const compared = (unit: string, of: string, form: string, name: string) => ({
      ...{ unit, request: "" },
      ours: { side: "trees", of },
      peer: { side: form, of, name },
    });
    const leaves = ["leaves", "each leaf as a sequence of its own"] as const;
    const turns = ["turns", "each turn of each leaf in full"] as const;
    const plain = "rollouts that do not branch";
    const branched = (unit: string, of: string, peer: string) => ({
      ...{ unit, request: "" },
      ours: { side: "branching", of },
      peer: { side: "branching", of: peer, name: plain },
    });
    return {
      name: "trees",
      prepare: [{ script: "ours/record-trees.ts", args }],
      sides: {
        trees: side("trees"),
        leaves: side("leaves"),
        turns: side("turns", 1),
        branching: { script: "ours/branching.ts", args: [officeModel, threads] },
      },
      entries: [
        { name: "trees-tokens", ...compared("tokens a tree", "tokensPerTree", ...leaves) },
        { name: "trees-tokens-turns", ...compared("tokens a tree", "tokensPerTree", ...turns) },
        { name: "trees-update-time", ...compared("s", "seconds", ...leaves) },
        { name: "trees-update-time-turns", ...compared("s", "seconds", ...turns) },
        { name: "trees-tool-calls", ...branched("calls", "calls", "plainCalls") },
        { name: "trees-rollout-time", ...branched("s", "seconds", "plainSeconds") },
      ],
    };
  };

  const rollouts = (): Benchmark => {
    const busy = (milliseconds: number, target?: Target): Entry => ({
      name: `rollouts-sampler-busy-${milliseconds}ms-tools`,
      unit: "share",
      request: String(milliseconds),
      ours: { side: "slow tools", of: "share" },
      target,
    });
    return {
      name: "rollouts",
      prepare: [],
      sides: {
        "slow tools": { script: "ours/slow-tools.ts", args: [officeModel, threads] },
        forks: { script: "ours/forks.ts", args: [officeModel] },
      },
      entries: [
        busy(0),
        busy(50, { atLeast: 0.8 }),
        { name: "rollouts-fork", unit: "ms", request: "", ours: { side: "forks", of: "fork" }, target: { atMost: 1 } },
        { name: "rollouts-one-turn", unit: "ms", request: "", ours: { side: "forks", of: "rollout" } },
      ],
    };
  };

  const tools = (): Benchmark => {
    const entry = (request: string, target?: Target): Entry => ({
      name: request.replaceAll(" ", "-"),
      unit: "ms",
      request,
      ours: { side: "ours", of: "milliseconds" },
      target,
    });
    return {
      name: "tools",
      prepare: [],
      sides: { ours: { script: "ours/tools.ts", args: [] } },
      entries: [
        entry("python start", { atMost: 3000 }),
        entry("python call", { atMost: 5 }),
        ...["python session", "python session again", "python 200 at once", "search index", "search query", "mcp call"].map(
          (request) => entry(request),
        ),
      ],
    };
  };

  const onGpu = isGpu(chosenDevice());
  /** A GPU has work with more rows alone. */
  const rows = onGpu ? ([16, 512] as const) : ([4, 256] as const);
  const smollm2Step = { suffix: "", own: [`${folder}/words-135m`, threads, 2, "words"] };
  return [
    denseTraining("training-dense", "5m", [8, 512], { modes: ["eager", "compile", "bfloat16"] }),
    denseTraining("training-dense-27m", "27m", [8, 512], { modes: ["eager", "compile", "bfloat16"] }),
    denseTraining("smollm2-full", "135m", rows, { modes: ["eager", "bfloat16"] }),
    denseTraining("smollm2-adapter", "135m", rows, { modes: ["eager", "bfloat16"], adapter: true }),
    sampling(
      "smollm2-sampling",
      "135m",
      [1, 8, 32].map((rows) => ({ rows, cached: 64, fresh: 32 })),
      onGpu ? ["dynamic", "static"] : ["dynamic"],
      // The package has no build for CUDA that its users would take as it is.
      onGpu ? {} : { "llama.cpp": { script: "peers/llama.ts", args: [threads] } },
    ),
    // One peer at a time: each takes up to 17 GB.
    trainingSteps("smollm2-step", [{ ...smollm2Step, target: 3.5 }], ["static float32"], [words("135m")]),
    ...(bfloat16 ? [trainingSteps("smollm2-step-bfloat16", [smollm2Step], ["dynamic bfloat16"], [words("135m")])] : []),
    defaultRun(),
    denseTraining("smollm2-8192", "135m", [1, 8192], { modes: ["eager"], rounds: 1 }),
    rolloutTraining(),
    trees(),
    updates(),
    trainingSteps(
      "step-trl",
      [
        { suffix: "", own: [`${folder}/words-5m`, threads, 8, "words"], target: 3 },
        { suffix: "-tools", own: [officeModel, threads, 8, "office"], command: nodeCommand("ours/office-server.ts"), target: 4 },
      ],
      ["static float32", "dynamic float32", "static bfloat16"],
      [words("5m")],
    ),
    sampling(
      "sampling",
      "5m",
      [64, 512].flatMap((cached) => [1, 32, 128].map((rows) => ({ rows, cached, fresh: 64 }))),
      ["dynamic", "static", "static-compile"],
    ),
    rollouts(),
    tools(),
    shareOfPeak(),
  ];
}
