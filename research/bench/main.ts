/** `npm run bench -- --help`: the local engine beside PyTorch, TRL and llama.cpp where they are installed (docs/performance.md). */
import "../../extensions/engines.ts";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { modelFolder } from "../../src/sdk/model.ts";
import { bench, programOf } from "./bench.ts";
import { measure } from "./measure.ts";
import { findPython } from "./python.ts";
import { hasBfloat16, RateMeter } from "./rate.ts";
import { runProgram } from "./side.ts";

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const program = programOf();
  program.parse();
  await bench(program.opts(), {
    ...{ measure, runProgram, findPython, openMeter: RateMeter.open, bfloat16: hasBfloat16(), load: loadavg()[0] },
    processor: `${cpus().length} × ${cpus()[0].model}`,
    officeModel: () => modelFolder({ model: "default", environment: { name: "office" } }),
    say: console.log,
  });
}
