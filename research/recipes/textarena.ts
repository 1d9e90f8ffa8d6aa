/**
 * Plays TextArena's game Secretary on its server by a fixed policy, prints what it reaches, and writes the conversations for `retrograde-rl sft`:
 * research/notes/textarena.md.
 *
 *     npx jiti research/recipes/textarena.ts openenv:ws://127.0.0.1:8000 random train 64 random.jsonl
 *
 * `random` accepts at a turn that it draws before it looks, so its conversations teach the form alone. `best` is optimal for values that are
 * uniform between 0 and 1 (Gilbert and Mosteller, 1966, §3): it accepts a value that is the highest so far and above a threshold.
 */
import "../install.ts";
import { writeFileSync } from "node:fs";
import type { Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";

/** Decides by the values so far and the number of those to come. */
type Policy = (values: readonly number[], left: number) => boolean;

/** For 0, 1, … values to come: a highest value so far is accepted if it is above this. */
const thresholds = [0, 0.5, 0.6899, 0.7758, 0.8246, 0.856, 0.8778, 0.8939, 0.9063, 0.916];

const policies: Readonly<Record<string, (random: Random, count: number) => Policy>> = {
  random: (random, count) => {
    const turn = random.integer(count);
    return (values) => values.length > turn;
  },
  best: () => (values, left) => values.at(-1) === Math.max(...values) && (values.at(-1) ?? 0) >= (thresholds[left] ?? 1),
};

const [address = "", name = "", split = "", count = "", out] = process.argv.slice(2);
const policyOf = policies[name];
if (policyOf === undefined) throw new Error(`policy is "${name}"; expected ${Object.keys(policies).join(" or ")}`);
const environment = createEnvironment(address, { actions: "text" });
await environment.open?.();
const games = [];
for (let i = 0; i < Number(count); i++) games.push(await play(i, policyOf));
await environment.close?.();
if (out !== undefined) writeFileSync(out, games.map(({ messages }) => `${JSON.stringify({ messages })}\n`).join(""));
const { mean, low, high } = meanInterval(
  games.map(({ reward }) => reward),
  { seed: 0 },
);
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
console.log(`won ${percent(mean)} [${percent(low)}, ${percent(high)}]`);

async function play(index: number, policyOf: (random: Random, count: number) => Policy) {
  const episode = await environment.start(await environment.task(split, index), 0);
  const messages: Message[] = [...episode.messages];
  const count = Number(/observe (\d+) hidden values/.exec(messages[0]?.content ?? "")?.[1]);
  const accepts = policyOf(randomStream(0, "textarena", split, index), count);
  const values: number[] = [];
  for (let done = false; !done; ) {
    values.push(Number(/current value is (\d\.\d+)/.exec(messages.at(-1)?.content ?? "")?.[1]));
    const action = { role: "assistant", content: accepts(values, count - values.length) ? "[accept]" : "[continue]" } as const;
    const reply = await episode.reply(action);
    messages.push(action, ...(reply.messages ?? []));
    done = reply.done === true;
  }
  const { reward } = await episode.score([]);
  await episode.close?.();
  return { messages, reward };
}
