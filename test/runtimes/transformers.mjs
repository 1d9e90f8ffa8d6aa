// In transformers.js: node transformers.mjs FOLDER-OF-PACKAGES MODEL-FOLDER < questions.json
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { answer } from "./answer.mjs";

const [packages, folder] = process.argv.slice(2);
const { href } = pathToFileURL(createRequire(join(packages, "x")).resolve("@huggingface/transformers"));
const library = await import(href);
Object.assign(library.env, { allowRemoteModels: false, localModelPath: dirname(folder) });
console.log(JSON.stringify(await answer(library, basename(folder), JSON.parse(await text(process.stdin)))));
