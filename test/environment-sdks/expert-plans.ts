import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parameterSchema, readDocuments } from "../../extensions/bfcl/documents.ts";
import { type BfclTask, categories } from "../../extensions/bfcl/tasks.ts";
import { evaluate } from "../../extensions/python/evaluate.ts";
import { parseExpression } from "../../extensions/python/syntax.ts";
import { jsonText } from "../../extensions/python/text.ts";
import { messageToolBeside } from "../../extensions/remote/server/hosted.ts";
import type { Environment } from "../../src/environments/environment.ts";

/** What an expert does in an episode, for clients that act by tools alone, and the reward that it is given for it. */
interface ExpertPlan {
  readonly split: string;
  readonly index: number;
  readonly actions: readonly { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> }[];
  readonly reward: number;
}

/** Writes the expert's plans for the first tasks of some splits, one JSON object in each line. @returns the file */
export async function expertPlans(environment: Environment, tasks: number, splits: readonly string[]): Promise<string> {
  const lines: string[] = [];
  for (const split of splits)
    for (let index = 0; index < Math.min(tasks, await environment.size(split)); index++)
      lines.push(JSON.stringify(await planOf(environment, split, index)));
  return written(lines);
}

function written(lines: readonly string[]): string {
  const file = join(mkdtempSync(join(tmpdir(), "experts-")), "plans.jsonl");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

/** BFCL's published answers as plans: the calls of each turn, and a message that ends it. @param data the folder of its package */
export async function answerPlans(environment: Environment, data: string, tasks: number): Promise<string> {
  const parameters = new Map(
    [...readDocuments(data).values()]
      .flat()
      .map(({ name, parameters: schema }) => [name, Object.keys(parameterSchema(schema).properties ?? {})]),
  );
  const actionOf = (text: string): ExpertPlan["actions"][number] => {
    const node = parseExpression(text);
    if (node.type !== "call" || node.called.type !== "name") throw new Error(`no call: ${text}`);
    const { name } = node.called;
    const named = node.keywords.map((keyword) => [keyword.name ?? "", keyword.value] as const);
    const placed = node.positional.map((value, i) => [parameters.get(name)?.[i] ?? "", value] as const);
    const given = [...placed, ...named].map(([key, value]) => [key, JSON.parse(jsonText(evaluate(value, () => undefined)))]);
    return { tool: name, arguments: Object.fromEntries(given) };
  };
  const tool = messageToolBeside([]);
  const lines: string[] = [];
  for (const split of categories)
    for (let index = 0; index < tasks; index++) {
      const { groundTruth } = (await environment.task(split, index)) as BfclTask;
      const actions = groundTruth.flatMap((calls) => [...calls.map(actionOf), { tool, arguments: { content: "Done." } }]);
      lines.push(JSON.stringify({ split, index, actions, reward: 1 } satisfies ExpertPlan));
    }
  return written(lines);
}

async function planOf(environment: Environment, split: string, index: number): Promise<ExpertPlan> {
  const task = await environment.task(split, index);
  const played = environment.expert?.play(task);
  if (played === undefined) throw new Error(`${environment.name} has no expert`);
  const opening = await environment.start(task, 0);
  const tool = messageToolBeside(opening.protocol === undefined ? opening.tools.map(({ name }) => name) : []);
  await opening.close?.();
  const actions = played.messages.flatMap((message) => {
    if (message.role !== "assistant") return [];
    const calls = opening.protocol === undefined ? (message.toolCalls ?? []) : [];
    if (calls.length > 0) return calls.map(({ name, arguments: given }) => ({ tool: name, arguments: given }));
    return [{ tool, arguments: { content: message.content } }];
  });
  return { split, index, actions, reward: played.score.reward };
}
