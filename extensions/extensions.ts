import type { Extension } from "../src/extension.ts";
import { appworldEnvironment } from "./appworld/appworld.ts";
import { benchmarkEnvironment } from "./benchmarks/benchmarks.ts";
import { deepResearchEnvironment } from "./benchmarks/deep-research.ts";
import { type BenchmarkName, benchmarks } from "./benchmarks/table.ts";
import { bfclEnvironment } from "./bfcl/bfcl.ts";
import { calculationEnvironment, calculatorEnvironment } from "./demo/environments.ts";
import { shopEnvironment } from "./demo/shop/shop.ts";
import { harborEnvironment } from "./harbor/harbor.ts";
import { knowledgeEnvironment } from "./knowledge/knowledge.ts";
import { remoteEnvironments } from "./remote/remote.ts";
import { tinkerEngine } from "./tinker/engine/open.ts";

/** The extensions of this package: what each brings to a configuration. */
export const extensions: readonly Extension[] = [
  { environments: { knowledge: knowledgeEnvironment } },
  { environments: { bfcl: bfclEnvironment } },
  { environments: { appworld: appworldEnvironment } },
  { environments: { "deep-research": (settings) => deepResearchEnvironment(settings) } },
  {
    environments: Object.fromEntries(
      (Object.keys(benchmarks) as BenchmarkName[]).map((name) => [name, (settings) => benchmarkEnvironment(name, settings)]),
    ),
  },
  { environments: { calculation: calculationEnvironment, calculator: calculatorEnvironment, shop: shopEnvironment } },
  { environments: { harbor: harborEnvironment } },
  { wires: remoteEnvironments },
  { engine: tinkerEngine },
];
