/**
 * Plays the published answers of BFCL's split `train` and writes those that pass as conversations for `retrograde-rl sft`:
 * docs/environments/bfcl.md.
 *
 *     npx jiti research/recipes/bfcl.ts answers.jsonl [FOLDER]
 */
import { writeFileSync } from "node:fs";
import { bfclEnvironment } from "../bfcl/bfcl.ts";
import { openEvaluator, pythonOf } from "../bfcl/evaluator/evaluator.ts";
import { passingAnswers } from "./bfcl-answers.ts";

const [out = "", data] = process.argv.slice(2);
const evaluator = openEvaluator(pythonOf(undefined));
const environment = bfclEnvironment(data === undefined ? {} : { data });
const size = await environment.size("train");
const lines = await passingAnswers(environment, size, evaluator);
await Promise.all([evaluator.close(), environment.close?.()]);
writeFileSync(out, `${lines.join("\n")}\n`);
console.log(`${lines.length} of ${size} published answers pass`);
