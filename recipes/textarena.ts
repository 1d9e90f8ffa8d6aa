/**
 * Plays TextArena's GuessTheNumber on its server by a fixed policy, prints what it reaches, and writes the conversations for `retrograde sft`:
 * docs/environments/textarena.md.
 *
 *     npx jiti recipes/textarena.ts openenv:ws://127.0.0.1:8000 any train 64 random.jsonl
 *
 * A policy guesses at random a number that was not guessed before (`any`), at random one that the hints allow (`allowed`), or the middle of
 * those (`middle`, binary search). `any` ignores the hints: its conversations teach the form alone.
 */
import "../extensions/install.ts";
import { writeFileSync } from "node:fs";
import type { Message } from "../src/core/messages.ts";
import { type Random, randomStream } from "../src/core/random.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { meanInterval } from "../src/statistics/intervals.ts";

/** What a player knows: the numbers that it has not guessed, and those of them that the hints allow. */
interface Known {
  readonly open: readonly number[];
  readonly allowed: readonly number[];
}

const policies: Readonly<Record<string, (known: Known, random: Random) => number>> = {
  any: ({ open }, random) => random.pick(open),
  allowed: ({ allowed }, random) => random.pick(allowed),
  middle: ({ allowed }) => allowed[Math.floor((allowed.length - 1) / 2)] ?? 0,
};

const [address = "", name = "", split = "", count = "", out] = process.argv.slice(2);
const policy = policies[name];
if (policy === undefined) throw new Error(`policy is "${name}"; expected ${Object.keys(policies).join(", ")}`);
const environment = createEnvironment(address, { actions: "text" });
await environment.open?.();
const rewards: number[] = [];
const lines: string[] = [];
for (let i = 0; i < Number(count); i++) {
  const { messages, reward } = await play(i);
  rewards.push(reward);
  lines.push(JSON.stringify({ messages }));
}
await environment.close?.();
if (out !== undefined) writeFileSync(out, `${lines.join("\n")}\n`);
const won = meanInterval(
  rewards.map((reward) => (reward === 1 ? 1 : 0)),
  { seed: 0 },
);
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
console.log(
  `won ${percent(won.mean)} [${percent(won.low)}, ${percent(won.high)}], mean reward ${(rewards.reduce((a, b) => a + b, 0) / rewards.length).toFixed(3)}`,
);

async function play(index: number): Promise<{ messages: readonly Message[]; reward: number }> {
  const random = randomStream(0, "textarena", name, index);
  const episode = await environment.start(await environment.task(split, index), 0);
  const messages: Message[] = [...episode.messages];
  const [, from, to] = /between (\d+) and (\d+)/.exec(messages.at(-1)?.content ?? "") ?? [];
  let open = Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i);
  let allowed = open;
  for (let done = false; !done; ) {
    const guess = policy?.({ open, allowed }, random) ?? 0;
    const action = { role: "assistant", content: `[${guess}]` } as const;
    const reply = await episode.reply(action);
    const answers = reply.messages ?? [];
    messages.push(action, ...answers);
    const higher = answers.some(({ content }) => content.includes("higher"));
    open = open.filter((n) => n !== guess);
    allowed = allowed.filter((n) => (higher ? n > guess : n < guess));
    done = reply.done === true;
  }
  const { reward } = await episode.score([]);
  await episode.close?.();
  return { messages, reward };
}
