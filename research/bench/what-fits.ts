/** The tables of docs/models.md, by the estimate that runs are checked with: `npx jiti research/bench/what-fits.ts`. */
import { fileURLToPath } from "node:url";
import { estimateMemory, type MemoryUse, parameterText, totalBytes } from "../../extensions/local/memory.ts";
import { parameterCount } from "../../extensions/local/model/model-config.ts";
import type { PublishedName } from "../../extensions/local/published-sizes.ts";
import { type ShapeName, shapeOf } from "./shapes.ts";

const names: readonly PublishedName[] = [
  ...(["smollm2", "gemma3", "smollm2-360m", "qwen2.5-0.5b", "qwen3-0.6b", "llama-3.2-1b"] as const),
  ...(["qwen2.5-1.5b", "qwen3-1.7b", "qwen2.5-3b", "qwen3-4b"] as const),
];
const lora = { rank: 32, alpha: 32, targets: "all-linear" } as const;
const lengths = [1024, 4096, 16_384];
const machines = [8, 16, 32];
/** Left to the system. */
const reserve = 2;
/** The tables of sizes end before models that no laptop trains. */
const listed = 6;

function gib(name: ShapeName, use: Partial<MemoryUse>): number {
  const of = { training: true, length: 2048, trajectories: 4, concurrency: 4, ...use };
  return totalBytes(estimateMemory(shapeOf(name), of)) / 2 ** 30;
}

/** What a model needs, by what is done with it. */
export function needs(): string[] {
  const columns: Partial<MemoryUse>[] = [
    { training: false, concurrency: 1 },
    { training: false, concurrency: 16 },
    { length: 512, trajectories: 128, concurrency: 16 },
    { trajectories: 128, concurrency: 16 },
    { length: 512, trajectories: 128, concurrency: 16, lora },
    { trajectories: 128, concurrency: 16, lora },
  ];
  return names.slice(0, listed).map((name) => {
    const cells = columns.map((use) => gib(name, use).toFixed(1));
    return `| \`${name}\` | ${parameterText(parameterCount(shapeOf(name)))} | ${cells.join(" | ")} |`;
  });
}

const forms: readonly (readonly [string, Partial<MemoryUse>])[] = [
  ["", {}],
  ["adapter: ", { lora }],
  ["8 bits: ", { lora: { ...lora, base: "int8" } }],
  ["4 bits: ", { lora: { ...lora, base: "int4" } }],
];

/** Memory of training by length of the longest sequence, four trajectories a step. */
export function byLength(): string[] {
  return names.map((name) => {
    const cells = lengths.map((length) =>
      length > shapeOf(name).maxPositionEmbeddings
        ? "–"
        : forms.map(([, use]) => gib(name, { ...use, length }).toFixed(1)).join(" / "),
    );
    return `| \`${name}\` | ${cells.join(" | ")} |`;
  });
}

/** The largest model that can be trained, by memory and length. */
export function largest(): string[] {
  return machines.map((memory) => {
    const cells = lengths.map((length) => {
      const fitting = forms.flatMap(([form, use]) => {
        const last = names.findLast(
          (name) => length <= shapeOf(name).maxPositionEmbeddings && gib(name, { ...use, length }) <= memory - reserve,
        );
        return last === undefined ? [] : [`${form}${last}`];
      });
      return fitting.length > 0 ? fitting.join("; ") : "none";
    });
    return `| ${memory} GiB | ${cells.join(" | ")} |`;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const table of [needs(), byLength(), largest()]) console.log(`${table.join("\n")}\n`);
}
