import "../install.ts";
import { knowledgeEnvironment } from "./knowledge.ts";
import type { KnowledgeTask } from "./task.ts";

export const world = knowledgeEnvironment();
export const taskOf = (environment: typeof world, index: number, split: "test" | "challenge" = "test") =>
  environment.task(split, index) as KnowledgeTask;
export const signal = new AbortController().signal;

export function call(environment: typeof world, task: KnowledgeTask, name: string, args: Record<string, string>): string {
  const { tools } = environment.start(task);
  return String(tools.find((tool) => tool.name === name)?.execute(args, { signal }));
}
