/**
 * Reinforcement learning of a tool-using model in one file, on the package's public entries: sample, reward, update, evaluate.
 *
 *     npx jiti research/recipes/rl-loop.ts [STEPS]
 *
 * GRPO (arXiv:2402.03300) in the default office. To be read from top to bottom, and copied. What it leaves out, and `train` does: episodes with
 * limits of time, tools that hang, faults kept apart from rewards, branching, other algorithms, mini-batches and their clip, references, the check
 * of the sampler against the trainer, checkpoints and resuming, records of every token, intervals that know tasks and seeds, warnings.
 */
import { join } from "node:path";
import { z } from "zod";
import {
  type ActionInContext,
  type Chat,
  createLocalEngine,
  type Engine,
  loadTokenizer,
  makeChat,
} from "../../entries/engine.ts"; // "retrograde-rl/engine"
import { createEnvironment, type Environment, type Message, type Task, type Tool, type ToolCall } from "../../entries/index.ts"; // "retrograde-rl"

const [maxTurns, maxTokens] = [40, 48];
const defaults = { tasksPerStep: 16, groupSize: 8, testTasks: 64 };
const adam = { learningRate: 2e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

export interface Parts {
  readonly engine: Pick<Engine, "info" | "sample" | "release" | "forwardBackward" | "step">;
  readonly chat: Chat;
  readonly office: Environment;
}

/** What is left of an episode: its turns as ids, and its reward. */
interface Played {
  readonly turns: readonly ActionInContext[];
  readonly reward: number;
}

/** Plays one episode. Ids that the model wrote are never tokenised again: each context is the last one, the action and the answers to it. */
async function play({ engine, chat, office }: Parts, task: Task, id: string, seed: number, temperature: number): Promise<Played> {
  const episode = await office.start(task, seed);
  let tools = episode.tools;
  let context = chat.open(episode.messages, tools);
  const conversation: Message[] = [...episode.messages];
  const turns: ActionInContext[] = [];
  for (let turn = 0; turn < maxTurns && context.ids.length + maxTokens <= engine.info.maxLength; turn++) {
    const { tokens: action, finish } = await engine.sample({
      context: [...context.ids],
      maxTokens,
      stopTokens: chat.tokenizer.stopTokens,
      stopStrings: chat.stopStrings,
      seed: seed + turn,
      temperature,
      cacheKey: id,
    });
    turns.push({ trajectory: id, turn, context: context.ids, action });
    if (finish === "length") break;
    const { message, calls } = chat.read(chat.actionText(action), conversation);
    const answers: Message[] = [];
    let done = false;
    if (calls.length > 0) {
      for (const call of calls) answers.push(await answer(tools, call));
    } else {
      const reply = await episode.reply(message);
      done = reply.done === true;
      answers.push(...(reply.messages ?? []));
      tools = reply.tools ?? tools;
    }
    conversation.push(message, ...answers);
    if (done) break;
    context = chat.extend(context, action, message, answers, tools);
  }
  engine.release(id);
  const { reward } = await episode.score(conversation);
  await episode.close?.();
  return { turns, reward };
}

/** The message that answers a call. An error is for the model to read. */
async function answer(tools: readonly Tool[], call: ToolCall | { readonly error: string }): Promise<Message> {
  if ("error" in call) return { role: "tool", name: "error", content: call.error };
  const { name } = call;
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) return { role: "tool", name, content: `Error: there is no tool "${name}"` };
  const checked = tool.parameters instanceof z.ZodType ? tool.parameters.safeParse(call.arguments) : { data: call.arguments };
  if (checked.data === undefined) return { role: "tool", name, content: "Error: wrong arguments" };
  const result = await tool.execute(checked.data, { signal: AbortSignal.timeout(30_000) });
  return { role: "tool", name, content: typeof result === "string" ? result : JSON.stringify(result) };
}

/** Greedy success on test tasks, in percent. */
async function evaluate(parts: Parts, count: number): Promise<string> {
  const tasks = await Promise.all(Array.from({ length: count }, (_, index) => parts.office.task("test", index)));
  const played = await Promise.all(tasks.map((task, index) => play(parts, task, `test-${index}`, 0, 0)));
  return (100 * mean(played.map(({ reward }) => reward))).toFixed(1);
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

export async function learn(parts: Parts, steps: number, say: (line: string) => void, sizes = defaults): Promise<void> {
  const { engine, office } = parts;
  const { tasksPerStep, groupSize, testTasks } = sizes;
  say(`before: ${await evaluate(parts, testTasks)} % of ${testTasks} test tasks, greedy`);
  for (let step = 1; step <= steps; step++) {
    // Sample: a group of episodes for each task.
    const tasks = await Promise.all(
      Array.from({ length: tasksPerStep }, (_, i) => office.task("train", tasksPerStep * step + i)),
    );
    const groups = await Promise.all(
      tasks.map((task, t) =>
        Promise.all(
          Array.from({ length: groupSize }, (_, g) =>
            play(parts, task, `${step}/${t}/${g}`, 1000 * (1000 * step + 10 * t + g), 1),
          ),
        ),
      ),
    );

    // Reward to advantage: A = (R − mean of the group) / (deviation of the group + 1e-6), the same for every token of an episode.
    const samples: ActionInContext[] = [];
    const advantages: number[] = [];
    for (const group of groups) {
      const rewards = group.map(({ reward }) => reward);
      const baseline = mean(rewards);
      const deviation = Math.sqrt(rewards.reduce((sum, reward) => sum + (reward - baseline) ** 2, 0) / (group.length - 1));
      for (const { turns, reward } of group) {
        samples.push(...turns);
        advantages.push(...turns.map(() => (reward - baseline) / (deviation + 1e-6)));
      }
    }

    // Update: one step up Σ A·log π / tokens. At the first step of a batch the ratio of PPO is 1, so no clip is needed.
    const tokens = samples.reduce((sum, { action }) => sum + action.length, 0);
    const weights = samples.map(({ action }, i) => action.map(() => advantages[i] / tokens));
    await engine.forwardBackward(samples, weights, { temperature: 1 });
    const { gradientNorm } = await engine.step(adam);

    const reward = mean(groups.flat().map((episode) => episode.reward));
    say(`step ${step}: reward ${reward.toFixed(3)}, ${tokens} tokens, gradient norm ${gradientNorm.toFixed(3)}`);
  }
  say(`after: ${await evaluate(parts, testTasks)} % of the same tasks`);
}

if (process.argv[1]?.endsWith("rl-loop.ts") === true) {
  const model = join(import.meta.dirname, "../../models/office");
  const engine = await createLocalEngine({ model });
  const parts = { engine, chat: makeChat(loadTokenizer(model)), office: createEnvironment("office", {}) };
  await learn(parts, Number(process.argv[2] ?? 10), console.log);
  await engine.saveModel("runs/rl-loop-model");
  await engine.dispose();
}
