/**
 * llama.cpp behind the chat-completions protocol, for programs such as examples/play-protocol.py. Nothing of this package is in it: template,
 * tokenizer, arithmetic and sampling are llama.cpp's and the file's own.
 *
 *     npm install node-llama-cpp@3 @huggingface/jinja
 *     node llama-endpoint.mjs FOLDER-OF-PACKAGES MODEL.gguf PORT
 */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [packages, modelPath, port] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(createRequire(join(packages, "x")).resolve(name)).href);
const [{ getLlama }, { Template }] = [await load("node-llama-cpp"), await load("@huggingface/jinja")];

const llama = await getLlama({ gpu: false, build: "never", logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 1024, threads: 1, flashAttention: false });
const sequence = context.getSequence();
const template = new Template(model.fileInfo.metadata.tokenizer.chat_template);
const [bos_token, eos_token] = [model.tokens.bosString, model.tokens.eosString];

async function answer({ messages, temperature, top_p, max_tokens, seed }) {
  const prompt = template.render({ messages, add_generation_prompt: true, bos_token, eos_token });
  const tokens = model.tokenize(prompt, true, "trimLeadingSpace");
  await sequence.adaptStateToTokens(tokens.slice(0, -1), false); // what begins alike is computed once
  const written = [];
  const sampling = { temperature, topP: top_p, topK: 0, minP: 0, seed, yieldEogToken: true };
  for await (const token of sequence.evaluate(tokens.slice(sequence.nextTokenIndex), sampling)) {
    if (model.isEogToken(token) || written.push(token) === max_tokens) break;
  }
  return model.detokenize(written);
}

let last = Promise.resolve(); // one sequence, so one at a time
createServer(async (request, response) => {
  const asked = await json(request);
  last = last
    .then(() => answer(asked))
    .then(
      (content) => response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content } }] })),
      (error) => response.writeHead(500).end(String(error)),
    );
}).listen(Number(port), "127.0.0.1");
