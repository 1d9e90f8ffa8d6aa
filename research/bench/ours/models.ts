/** Writes random models: models.ts FOLDER NAMES... */
import { join } from "node:path";
import { benchmarkModels, writeBenchmarkModel } from "../model.ts";

const [folder, ...names] = process.argv.slice(2);
for (const name of names) await writeBenchmarkModel(join(folder, name), benchmarkModels[name]);
