// What llama.cpp computes of Gemma 3 270M: node gemma3.mjs FILE.gguf FLOAT32.gguf, in a folder with node-llama-cpp 3.22.1
// Ids from the published file (Q4_K_M); log-probs and greedy text from its numbers as float32, since llama.cpp's products round activations
// where weights are quantised. FLOAT32.gguf is the file with every tensor as the `gguf` package's `dequantize` gives it.
import { readFileSync, writeFileSync } from "node:fs";
import { getLlama } from "node-llama-cpp";

const [quantised, float32] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: "never" });
const { texts } = JSON.parse(readFileSync(new URL("smollm2.json", import.meta.url), "utf8"));
const { tokenize, ...model } = await open(quantised);
const ids = texts.map((text) => tokenize(text, true));
const prompt = [model.bos, ...tokenize("The capital of France is Paris. The capital of Japan is", false)];

const { context } = await open(float32);
const sequence = context.getSequence();
const greedy = [];
while (greedy.length < 16) {
  const next = greedy.length === 0 ? prompt : greedy.slice(-1);
  greedy.push(...(await likeliest(next)).slice(-1));
}
await sequence.clearHistory();
const row = [...prompt, ...greedy];
const given = await sequence.controlledEvaluate(row.map((token) => [token, { generateNext: { probabilities: true } }]));
const logprobs = row.slice(1).map((token, i) => Number(Math.log(given[i].next.probabilities.get(token)).toFixed(6)));
writeFileSync(new URL("gemma3.json", import.meta.url), `${JSON.stringify({ texts: [], ids, prompt, greedy, logprobs })}\n`);
process.exit(0);

async function open(modelPath) {
  const model = await llama.loadModel({ modelPath });
  const context = await model.createContext({ contextSize: 256, threads: 1 });
  return { context, bos: model.tokens.bos, tokenize: (text, special) => model.tokenize(text, special) };
}

async function likeliest(tokens) {
  const given = await sequence.controlledEvaluate(tokens.map((token) => [token, { generateNext: { probabilities: true } }]));
  return given.map(({ next }) => [...next.probabilities].reduce((a, b) => (b[1] > a[1] ? b : a))[0]);
}
