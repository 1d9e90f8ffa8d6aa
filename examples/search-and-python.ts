/**
 * Questions over documents of your own in ARPO's protocol: the model searches and calculates inside of one growing text, and is rewarded as there.
 *
 *   npx jiti examples/search-and-python.ts [MODEL FOLDER] [STEPS]
 */
import { createPython, defineEnvironment, localSearch, searchTool, train } from "../entries/index.ts"; // In a project of your own: from "retrograde-rl".
import { researchProtocol } from "../research/arpo-protocol/protocol.ts";
import { researchReward } from "../research/arpo-protocol/reward.ts";

const peaks = ["Owl", "Fox", "Otter", "Raven"].map((animal, i) => ({ name: `${animal} Peak`, height: 412 + 97 * i }));
const documents = peaks.map(({ name, height }) => ({ title: name, text: `${name} is ${height} m high.`, url: "" }));
const tools = [searchTool(localSearch(documents), { count: 2 }), createPython().tool];
const protocol = researchProtocol({ limits: { calls: 3 }, maxResponseTokens: 128 });
const questions = defineEnvironment({
  name: "peaks",
  system: "Use <think>, <search>, <python>, then <answer> with \\boxed{}.",
  tasks: (random) => {
    const { name, height } = random.pick(peaks);
    return { prompt: `How high is ${name}, twice?`, gold: `${2 * height}` };
  },
  start: ({ gold }) => ({ tools, protocol, reward: ({ response }) => researchReward(response, [gold]).reward }),
});
const [model = "bundled:office", steps = "20"] = process.argv.slice(2);
const settings = { environment: questions, model, steps: Number(steps), evaluation: { tasks: 16, k: 2 } };
const { summary } = await train(settings, { print: true });
console.log(`reward ${summary.before?.mean.toFixed(2)} → ${summary.after?.mean.toFixed(2)}`);
