import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageToolBeside } from "../../extensions/remote/server/hosted.ts";
import { parametersOf, readDocuments } from "../../research/bfcl/documents.ts";
import { openEvaluator, pythonOf } from "../../research/bfcl/evaluator/evaluator.ts";
import { type BfclTask, categories } from "../../research/bfcl/tasks.ts";
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
  const parameters = parametersOf([...readDocuments(data).values()].flat());
  const evaluator = openEvaluator(pythonOf(undefined));
  const actionOf = async (text: string): Promise<ExpertPlan["actions"][number]> => {
    const call = (await evaluator.judge({ op: "read", text, parameters })) as { name: string; arguments: string };
    return { tool: call.name, arguments: JSON.parse(call.arguments) };
  };
  const tool = messageToolBeside([]);
  const lines: string[] = [];
  for (const split of categories)
    for (let index = 0; index < tasks; index++) {
      const { groundTruth } = (await environment.task(split, index)) as BfclTask;
      const actions: ExpertPlan["actions"][number][] = [];
      for (const calls of groundTruth) {
        for (const call of calls) actions.push(await actionOf(call));
        actions.push({ tool, arguments: { content: "Done." } });
      }
      lines.push(JSON.stringify({ split, index, actions, reward: 1 } satisfies ExpertPlan));
    }
  await evaluator.close();
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
