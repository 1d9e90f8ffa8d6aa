import { present } from "../../src/core/present.ts";
import type { UserCodeLimits } from "../../src/core/user-code.ts";
import type { Environment, Split, Task } from "../../src/environments/environment.ts";
import { whileEpisode } from "../../src/environments/lifetime.ts";
import { playThrough } from "./play.ts";
import { toolOrder } from "./policies.ts";

const compared = 8;

/**
 * Finds tasks and episodes that are not the same the second time. The rollouts of a group are compared because they begin alike, and a run is
 * resumed by its seed: what `Math.random` or the clock draws, and state that episodes share, break both in silence.
 * @returns a sentence for tasks, and one for episodes; none if all is repeated
 */
export async function findUnrepeatable(environment: Environment, split: Split, limits: UserCodeLimits): Promise<string[]> {
  const size = Math.min(compared, await environment.size(split));
  const tasks: Task[] = [];
  for (let index = 0; index < size; index++) tasks.push(await environment.task(split, index));
  const found: string[] = [];
  for (const [index, task] of tasks.entries()) {
    const change = difference([task], [await environment.task(split, index)]);
    if (change === undefined) continue;
    found.push(
      `Task ${index} of ${split} is another one the second time: ${change.text}. Draw tasks from the random numbers given.`,
    );
    break;
  }
  // All of them before any is repeated: what an episode leaves behind shows in a later one.
  const first: unknown[][] = [];
  for (const task of tasks) first.push(await transcript(environment, task, limits));
  for (const [index, task] of tasks.entries()) {
    const change = difference(present(first[index], "a transcript"), await transcript(environment, task, limits));
    if (change === undefined) continue;
    found.push(
      `The episode of task ${index} of ${split} is another one the second time, from message ${change.at} on: ${change.text}. ` +
        "Make all state inside of start(), and draw from its random numbers.",
    );
    break;
  }
  return found;
}

/** An episode in which every tool is called once, and its score at the end. */
async function transcript(environment: Environment, task: Task, limits: UserCodeLimits): Promise<unknown[]> {
  const { protocol, tools: shown } = await whileEpisode(environment, task, 0, (episode) => episode);
  const tools = protocol === undefined ? shown.map(({ name }) => name) : [];
  const { conversation, score } = await playThrough(environment, task, toolOrder(tools), limits);
  return [...conversation, score];
}

function difference(
  first: readonly unknown[],
  again: readonly unknown[],
): { readonly at: number; readonly text: string } | undefined {
  const texts = (items: readonly unknown[]) => items.map((item) => JSON.stringify(item, plain));
  const [a, b] = [texts(first), texts(again)];
  const at = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => i).find((i) => a[i] !== b[i]);
  if (at === undefined) return undefined;
  const [one, other] = [a[at] ?? "nothing", b[at] ?? "nothing"];
  const from = Math.max(0, [...one].findIndex((letter, i) => letter !== other[i]) - 20);
  return { at, text: `…${one.slice(from, from + 60)}… and then …${other.slice(from, from + 60)}…` };
}

function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
