// In node-llama-cpp: node llama.mjs FOLDER-OF-PACKAGES MODEL.gguf < questions.json
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [packages, modelPath] = process.argv.slice(2);
const { href } = pathToFileURL(createRequire(join(packages, "x")).resolve("node-llama-cpp"));
const { getLlama } = await import(href);
const { openings, prompts, maxTokens } = JSON.parse(await text(process.stdin));
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 1024, threads: 1, flashAttention: false });
const sequence = context.getSequence();
const texts = [];
for (const prompt of prompts) {
  await sequence.clearHistory();
  const answer = [];
  for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    answer.push(token);
    if (model.isEogToken(token) || answer.length === maxTokens) break;
  }
  texts.push(model.detokenize(answer, true));
}
console.log(JSON.stringify({ openings: openings.map(({ text }) => model.tokenize(text, true)), texts }));
process.exit(0);
