/**
 * Conversations one after another, with drafts from what was said before and without, in turns: `npx jiti bench/lookup.ts FOLDER|FILE.gguf...`. The
 * office's model plays its tasks, any other is asked to work on a text. Tokens per second of processor time, one thread.
 */
import { createEnvironment } from "../entries/index.ts";
import { createLocalEngine, type LocalEngine } from "../src/engines/local/engine.ts";
import { ggufFolder } from "../src/engines/local/model/gguf/folder.ts";
import { rolloutGroups } from "../src/rollouts/rollout.ts";
import { openChat } from "../src/sdk/model.ts";
import { resolveConfig } from "../src/training/config.ts";
import { trainingTasks } from "../src/training/tasks.ts";
import { median } from "./statistics.ts";

const text =
  "The harbour of Lindgate was built in 1874 by the engineer Amelia Thornbury. It has three basins: the north basin for grain, the middle basin " +
  "for coal and the south basin for passengers. In 1921 the north basin was closed, and its grain went by rail to Port Merrow.";
const asked = [
  `Repeat this text and mark every year with stars: ${text}`,
  `Answer with sentences of the text alone. What are the three basins for? ${text}`,
  `Summarise in two sentences: ${text}`,
  "Write a poem about the sea.",
];
const [rounds, threads, maxTokens] = [3, 1, 128];

for (const name of process.argv.slice(2)) {
  const model = name.endsWith(".gguf") ? await ggufFolder(name) : name;
  const { chat, tokenizer } = openChat(model);
  const { environment, rollout } = resolveConfig({});
  const office = createEnvironment(environment.name, environment.settings);
  const tasks = await trainingTasks(office, 0, 8, 1);

  /** @returns the tokens that were sampled */
  const talk = async (engine: LocalEngine, temperature: number): Promise<number[]> => {
    if (name.endsWith(environment.name)) {
      const options = { ...rollout, groupSize: 1, concurrency: 1, temperature: temperature || 0.001, seed: 1, name: "talk" };
      const groups = await rolloutGroups(engine, chat, office, tasks, options);
      return groups.flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns.flatMap(({ action }) => action)));
    }
    const said: number[] = [];
    for (const content of asked) {
      const { ids } = chat.open([{ role: "user", content }], []);
      const request = { context: [...ids], maxTokens, stopTokens: tokenizer.stopTokens, seed: 1, temperature };
      said.push(...(await engine.sample(request)).tokens);
    }
    return said;
  };

  for (const temperature of [0, 0.7, 1]) {
    const speeds: number[][] = [[], []];
    const texts: number[][] = [];
    for (let round = 0; round < rounds; round++)
      for (const [i, lookup] of [false, true].entries()) {
        // A new engine each time: nothing is drafted from the round before.
        const engine = await createLocalEngine({ model, threads, sampling: { lookup, weightsAsInputs: false } });
        await engine.sample({ context: [1], maxTokens: 2, stopTokens: [], seed: 1 });
        const start = process.cpuUsage();
        texts[i] = await talk(engine, temperature);
        const { user, system } = process.cpuUsage(start);
        speeds[i].push((1e6 * texts[i].length) / (user + system));
        await engine.dispose();
      }
    const same = texts[0].length === texts[1].length && texts[0].every((token, i) => token === texts[1][i]);
    const ratios = speeds[1].map((speed, round) => speed / speeds[0][round]);
    const [plain, drafted] = speeds.map((each) => median(each).toFixed(0));
    console.log(
      `${name}, temperature ${temperature}: ${plain} tokens/s, with drafts ${drafted}, ${median(ratios).toFixed(2)} × (${ratios.map((ratio) => ratio.toFixed(2)).join(", ")}); ${texts[0].length} tokens, ${same ? "the same" : "NOT the same"}`,
    );
  }
}
