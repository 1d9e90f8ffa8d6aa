import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { needsBranches } from "../../src/algorithms/advantages/advantage.ts";
import { advantageKindOf, advantageKinds, anyAdvantage } from "../../src/algorithms/advantages/kinds.ts";
import { type AlgorithmConfig, algorithmConfigSchema, defaultsOf, factsOf } from "../../src/algorithms/algorithms.ts";
import type { Metric } from "../../src/algorithms/metrics.ts";
import { anyUpdate, updateKindOf } from "../../src/algorithms/objectives/kinds.ts";
import { presets } from "../../src/algorithms/presets/kinds.ts";
import type { Composition } from "../../src/algorithms/presets/parts.ts";
import { anyTerm, termKindOf, termKinds } from "../../src/algorithms/terms/kinds.ts";
import { anyBranchRule, branchRuleOf } from "../../src/rollouts/branching/rules.ts";
import { anyTaskSampler, taskSamplerOf } from "../../src/training/config/task-samplers/kinds.ts";
import { root } from "../house.ts";

/** An algorithm in the table of docs/algorithms, beside its composition. */
interface About {
  readonly source: string;
  /** The credit, and the bound of a step, of an algorithm that is no composition. */
  readonly credit?: string;
  readonly bound?: string;
}

const seeupo = { credit: "`group-relative`, normalised over the batch, times M", bound: "`ppu`: turn, an update for each turn" };

const algorithmSources: Readonly<Record<string, About>> = {
  seeupo: { ...seeupo, source: "arXiv:2602.06554" },
  "seeupo-code": { ...seeupo, credit: "the same, within ±3, M clipped", source: "modelscope/AgentEvolver" },
  ...Object.fromEntries(presets.map(({ settings, source }) => [settings.shape.kind.value, { source }])),
  custom: { credit: "any", bound: "any", source: "of each part" },
  sft: { credit: "cross-entropy of demonstrations", bound: "nothing", source: "common" },
};

const twentySteps = readFileSync(join(root, "research/notes/twenty-steps.md"), "utf8");

/** Returns the tables in Markdown, by page of docs/algorithms and by the name of the section that has them. */
export function kindTables(): Readonly<Record<"README" | "custom", Readonly<Record<string, string>>>> {
  return {
    README: { methods: methodTable() },
    custom: {
      advantages: settingsTable("advantage.kind", anyAdvantage),
      "update rules": settingsTable("update.kind", anyUpdate),
      terms: settingsTable("term.kind", anyTerm),
      metrics: table(
        ["metric", "meaning"],
        [...advantageKinds, ...termKinds].flatMap(({ metrics }) =>
          Object.entries<Metric>(metrics ?? {}).map(([name, { meaning }]) => [`\`${name}\``, meaning]),
        ),
      ),
      "task samplers": settingsTable("rollout.tasks.kind", anyTaskSampler, ["choice", "source"], (kind) => {
        const { formula, source } = taskSamplerOf({ kind } as never);
        return [formula, source];
      }),
      "branching rules": settingsTable("rollout.branching.rule.kind", anyBranchRule, ["a path branches", "source"], (kind) => {
        const { formula, source } = branchRuleOf({ kind } as never);
        return [formula, source];
      }),
    },
  };
}

/** Every method: algorithms by name, then the parts of which `custom` composes others. */
function methodTable(): string {
  const head = ["method", "credit or loss", "bound of a step", "needs", "costs", "office", "source"];
  return table(head, [...presetRows(), ...advantageRows(), ...updateRows(), ...termRows()]);
}

/** Success that twenty steps of each began and ended with, as research/notes/twenty-steps.md has it. */
function ranOf(kind: string): string {
  const row = twentySteps.split("\n").find((line) => line.startsWith(`| \`${kind}\` |`));
  const after = /(\d+\.\d) \[/.exec(row ?? "")?.[1];
  return after === undefined ? "" : `31 → ${Number(after).toFixed(0)} %`;
}

function presetRows(): string[][] {
  return Object.entries(algorithmSources).map(([kind, about]) => {
    const page = kind.startsWith("seeupo") ? "seeupo" : kind;
    const { data } = algorithmConfigSchema.safeParse({ kind });
    const composed = data !== undefined && "aggregation" in data && "advantage" in data ? data : undefined;
    const { credit = composed && creditOf(composed), bound = composed && boundOf(composed) } = about;
    const { capabilities } = data === undefined ? { capabilities: [] } : factsOf(data);
    const branches = defaultsOf(kind).rollout?.branching !== undefined ? ["branches"] : [];
    const steps = composed === undefined || composed.miniBatches === 1 ? [] : [`${composed.miniBatches} steps a batch`];
    const more = composed !== undefined && "dynamicSampling" in composed ? ["further batches"] : [];
    return [
      ...[`[\`${kind}\`](${page}.md)`, credit ?? "", bound ?? "", [...capabilities, ...branches].join(", ")],
      ...[[...steps, ...more].join(", "), ranOf(kind), about.source],
    ];
  });
}

type Composed = Extract<AlgorithmConfig, Composition>;

function creditOf({ advantage }: Composed): string {
  return `\`${advantage.kind}\`${"std" in advantage && advantage.std === "group" ? " / σ" : ""}`;
}

function boundOf({ update, aggregation }: Composed): string {
  const level = "level" in update ? `: ${update.level}` : "";
  const of = typeof aggregation === "string" ? aggregation : "token-sum";
  return `\`${update.kind}\`${level}, ${of}`;
}

function advantageRows(): string[][] {
  return kindsOf(anyAdvantage).map((kind) => {
    const { formula, comparedWithin, capabilities = [], source, ...more } = advantageKindOf({ kind } as never);
    const { readsTurnRewards = false, readsDemonstrations = false, model, unmet } = more;
    const needs = [
      ...capabilities,
      ...(comparedWithin === "group" ? ["groups"] : []),
      ...(model !== undefined ? ["a teacher"] : []),
      ...(readsDemonstrations ? ["demonstrations"] : []),
      ...(unmet === needsBranches ? ["branches"] : unmet === undefined ? [] : ["`rewards`"]),
      ...(readsTurnRewards ? ["reads rewards of turns"] : []),
    ];
    const costs = [
      ...(model !== undefined ? ["a teacher's model, and its forward pass"] : []),
      ...(readsDemonstrations ? ["a forward pass with the demonstrations"] : []),
      ...(capabilities.includes("critic") ? ["a critic's passes"] : []),
    ];
    return [`\`advantage.${kind}\``, formula, "", needs.join(", "), costs.join(", "), usedBy("advantage", kind), source];
  });
}

function updateRows(): string[][] {
  return kindsOf(anyUpdate).map((kind) => {
    const { formula, source, weighsByLogprob = false } = updateKindOf({ kind } as never);
    const costs = weighsByLogprob ? "a forward pass" : "";
    return [`\`update.${kind}\``, "", formula, "", costs, usedBy("update", kind), source];
  });
}

function termRows(): string[][] {
  return kindsOf(anyTerm).map((kind) => {
    const { formula, source } = termKindOf({ kind } as never);
    return [`\`term.${kind}\``, formula, "", "replies between turns", "their output layer", usedBy("term", kind), source];
  });
}

/** The success of ten steps of a part by itself, or the algorithms by which it was run. */
function usedBy(part: "advantage" | "update" | "term", kind: string): string {
  const own = new RegExp(`^\\| \`${part}\\.${kind}\` \\| (\\d+ → \\d+) `, "m").exec(twentySteps)?.[1];
  if (own !== undefined) return `${own} %`;
  if (part === "term") return "";
  const users = Object.keys(algorithmSources).filter((name) => {
    const { data } = algorithmConfigSchema.safeParse({ kind: name });
    const own = data !== undefined && "aggregation" in data ? data[part] : undefined;
    return ranOf(name) !== "" && typeof own === "object" && own.kind === kind;
  });
  return users
    .map((name) => `\`${name}\``)
    .slice(0, 2)
    .join(", ");
}

/** The text between a section's markers. */
export function tableIn(page: string, name: string): string | undefined {
  return page.split(`<!-- ${name} -->\n`)[1]?.split("\n<!-- end -->")[0];
}

type Choice = { readonly options: readonly z.ZodObject[] };

const kindsOf = ({ options }: Choice): string[] => options.map(({ shape }) => String((shape.kind as z.ZodLiteral).value));

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `|${cells.map((cell) => (cell === "" ? " " : ` ${cell} `)).join("|")}|`;
  return [row(head), `|${head.map(() => "---|").join("")}`, ...rows.map(row)].join("\n");
}

/** The settings of each kind with their defaults, and what else is said of it. */
function settingsTable(
  name: string,
  schema: Choice,
  columns: readonly string[] = [],
  cellsOf: (kind: string) => readonly string[] = () => [],
): string {
  const kinds = kindsOf(schema);
  const rows = schema.options.map((option, i) => {
    const kind = kinds[i] ?? "";
    return [`\`${kind}\``, ...cellsOf(kind), settingsOf(option).join(", ")];
  });
  return table([`\`${name}\``, ...columns, "settings (default)"], rows);
}

function settingsOf(schema: z.core.$ZodType, path = "", fallback?: unknown): string[] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return settingsOf(schema.def.innerType, path, schema.def.defaultValue);
  if (schema instanceof z.ZodOptional) return settingsOf(schema.def.innerType, path, "none");
  if (schema instanceof z.ZodLiteral) return [];
  if (!(schema instanceof z.ZodObject)) return [`\`${path}\` (${fallback === undefined ? "required" : String(fallback)})`];
  return Object.entries(schema.shape).flatMap(([key, inner]) => settingsOf(inner, path === "" ? key : `${path}.${key}`));
}
