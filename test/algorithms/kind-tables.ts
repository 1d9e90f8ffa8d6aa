import { z } from "zod";
import { needsBranches } from "../../src/algorithms/advantages/advantage.ts";
import { advantageKindOf, advantageKinds, anyAdvantage } from "../../src/algorithms/advantages/kinds.ts";
import type { Metric } from "../../src/algorithms/metrics.ts";
import { anyUpdate, updateKindOf } from "../../src/algorithms/objectives/kinds.ts";
import { anyTerm, termKindOf, termKinds } from "../../src/algorithms/terms/kinds.ts";
import { anyBranchRule, branchRuleOf } from "../../src/rollouts/branching/rules.ts";
import { anyTaskSampler, taskSamplerOf } from "../../src/training/config/task-samplers/kinds.ts";

/** Returns the tables of kinds in Markdown, by the name of the section of docs/algorithms/custom.md that has them. */
export function kindTables(): Readonly<Record<string, string>> {
  return {
    advantages: tableOf(["advantage.kind", "credit", "compared within", "needs", "costs"], anyAdvantage, (kind) => {
      const {
        formula,
        comparedWithin,
        capabilities = [],
        readsTurnRewards,
        readsDemonstrations = false,
        model,
        unmet,
        source,
      } = advantageKindOf({ kind } as never);
      const needs = [
        ...capabilities,
        ...(model !== undefined ? ["a teacher"] : []),
        ...(readsDemonstrations ? ["demonstrations"] : []),
        ...(unmet === needsBranches ? ["branches"] : unmet === undefined ? [] : ["`rewards`"]),
      ];
      const costs = [
        ...(model !== undefined ? ["a teacher's model, and its forward pass"] : []),
        ...(readsDemonstrations ? ["a forward pass with the demonstrations"] : []),
        ...(capabilities.includes("critic") ? ["a critic's passes"] : []),
      ];
      return [
        formula,
        comparedWithin,
        [...needs, ...(readsTurnRewards === true ? ["reads rewards of turns"] : [])].join(", "),
        costs.join(", "),
        source,
      ];
    }),
    "task samplers": tableOf(["rollout.tasks.kind", "choice"], anyTaskSampler, (kind) => {
      const { formula, source } = taskSamplerOf({ kind } as never);
      return [formula, source];
    }),
    terms: tableOf(["term.kind", "loss"], anyTerm, (kind) => {
      const { formula, source } = termKindOf({ kind } as never);
      return [formula, source];
    }),
    metrics: [
      "| metric | meaning |",
      "|---|---|",
      ...[...advantageKinds, ...termKinds].flatMap(({ metrics }) =>
        Object.entries<Metric>(metrics ?? {}).map(([name, { meaning }]) => `| \`${name}\` | ${meaning} |`),
      ),
    ].join("\n"),
    "update rules": tableOf(["update.kind", "loss of a token, and what bounds its step", "costs"], anyUpdate, (kind) => {
      const { formula, source, weighsByLogprob = false } = updateKindOf({ kind } as never);
      return [formula, weighsByLogprob ? "a forward pass, with one step a batch too" : "", source];
    }),
    "branching rules": tableOf(["rollout.branching.rule.kind", "a path branches"], anyBranchRule, (kind) => {
      const { formula, source } = branchRuleOf({ kind } as never);
      return [formula, source];
    }),
  };
}

/** The text between a section's markers. */
export function tableIn(page: string, name: string): string | undefined {
  return page.split(`<!-- ${name} -->\n`)[1]?.split("\n<!-- end -->")[0];
}

function tableOf(
  columns: readonly [string, ...string[]],
  schema: { readonly options: readonly z.ZodObject[] },
  cellsOf: (kind: string) => readonly string[],
): string {
  const [name, ...others] = columns;
  const head = `| \`${name}\` | ${[...others, "source", "settings (default)"].join(" | ")} |`;
  const rows = schema.options.map((option) => {
    const kind = String((option.shape.kind as z.ZodLiteral).value);
    return `| \`${kind}\` | ${[...cellsOf(kind), settingsOf(option).join(", ")].join(" | ")} |`;
  });
  return [head, head.replace(/[^|]+/g, "---"), ...rows].join("\n");
}

function settingsOf(schema: z.core.$ZodType, path = "", fallback?: unknown): string[] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return settingsOf(schema.def.innerType, path, schema.def.defaultValue);
  if (schema instanceof z.ZodOptional) return settingsOf(schema.def.innerType, path, "none");
  if (schema instanceof z.ZodLiteral) return [];
  if (!(schema instanceof z.ZodObject)) return [`\`${path}\` (${fallback === undefined ? "required" : String(fallback)})`];
  return Object.entries(schema.shape).flatMap(([key, inner]) => settingsOf(inner, path === "" ? key : `${path}.${key}`));
}
