/** Writes the random models: models.ts FOLDER */
import { join } from "node:path";
import { benchmarkModels, writeBenchmarkModel } from "../model.ts";

const [folder] = process.argv.slice(2);
for (const [name, config] of Object.entries(benchmarkModels)) await writeBenchmarkModel(join(folder, name), config);
