import type { Message } from "../../src/core/messages.ts";
import { outcomeOf } from "../../src/core/outcome.ts";
import type { Trajectory } from "../../src/core/trajectory.ts";
import type { Environment, Task } from "../../src/environments/environment.ts";
import { whileEpisode } from "../../src/environments/lifetime.ts";
import { canonical, type Protocol, ProtocolError, type ProtocolTask } from "./protocol.ts";
import type { Attempt, Decoding } from "./results.ts";
import { isRight } from "./scorer.ts";

/** The environment of a protocol whose scorer compares texts: one message answers a task. */
export function textEnvironment({ name, split, tasks, scorer }: Protocol): Environment<Task & { readonly index: number }> {
  if (scorer.kind !== "equal") throw new RangeError(`the scorer ${scorer.kind} compares no texts`);
  return {
    name,
    splits: [split],
    size: (asked) => (asked === split ? tasks.length : 0),
    task: (_, index) => ({ id: tasks[index]?.id ?? "", index }),
    start: ({ index }) => ({
      messages: tasks[index]?.messages ?? [],
      tools: [],
      reply: () => ({ done: true }),
      score: (conversation) => ({ reward: Number(isRight(answerIn(conversation), tasks[index]?.answers ?? [], scorer)) }),
    }),
  };
}

/**
 * Reads the first tasks of an environment's split as players see them.
 * @throws EnvError of the environment; ProtocolError where a task begins with more than texts
 */
export async function shownTasks(
  environment: Environment,
  split: string,
  count: number,
): Promise<Omit<ProtocolTask, "sha256">[]> {
  const tasks = [];
  const size = Math.min(count, await environment.size(split));
  for (let i = 0; i < size; i++) {
    const task = await environment.task(split, i);
    tasks.push(await whileEpisode(environment, task, 0, ({ messages, tools }) => shown(task.id, messages, tools)));
  }
  return tasks;
}

function shown(id: string, messages: readonly Message[], tools: Awaited<ReturnType<Environment["start"]>>["tools"]) {
  const texts = messages.map(({ role, content }) => {
    if (role !== "tool") return { role, content };
    throw new ProtocolError("malformed", `task ${id}`, "the result of a tool", {
      expected: "a task that begins with messages of the system, the user and the assistant",
    });
  });
  const shownTools = tools.map(({ name, description, parameters }) => ({ name, description, parameters: { ...parameters } }));
  return { id, messages: texts, ...(shownTools.length === 0 ? {} : { tools: shownTools }) };
}

/** @throws ProtocolError naming the first task that the environment no longer shows as the protocol has it */
export async function requireTasks(environment: Environment, { split, tasks }: Protocol): Promise<void> {
  const now = await shownTasks(environment, split, tasks.length);
  for (const [i, { sha256, ...task }] of tasks.entries()) {
    if (now[i] !== undefined && canonical(now[i]) === canonical(task)) continue;
    throw new ProtocolError("changed", `task ${task.id} of "${environment.name}"`, now[i] ?? "missing", {
      expected: `the protocol's: ${canonical(task).slice(0, 200)}`,
      hint: "The environment, its version or its settings are others than those that the protocol was made of.",
    });
  }
}

/** Episodes of one decoding as lines of a result file. @param episodes in the order of their attempts */
export function attemptsFrom(episodes: readonly Trajectory[], decoding: Decoding, { tasks, scorer }: Protocol): Attempt[] {
  const counts = new Map<string, number>();
  const hashes = new Map(tasks.map(({ id, sha256 }) => [id, sha256]));
  return episodes.map((episode) => {
    const attempt = counts.get(episode.task) ?? 0;
    counts.set(episode.task, attempt + 1);
    const outcome = outcomeOf(episode);
    return {
      ...{ task: hashes.get(episode.task) ?? episode.task, decoding, attempt },
      ...(scorer.kind === "equal" ? { answer: answerIn(episode.messages) } : {}),
      ...(outcome.kind === "score" ? { reward: outcome.reward } : { error: outcome.error }),
    };
  });
}

/** The player's last message; "" if there is none. */
function answerIn(conversation: readonly Message[]): string {
  return conversation.findLast(({ role }) => role === "assistant")?.content ?? "";
}
