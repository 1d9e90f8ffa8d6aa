import { cpSync, existsSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { showDownload } from "../../../src/cli/download.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { layout } from "../../../src/runs/layout.ts";
import { readRun } from "../../../src/runs/read.ts";
import { findModel, type ModelChoice, modelFolder } from "../../../src/sdk/model.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { runOfModel } from "../../../src/training/config/known-models.ts";
import { adapterFolder } from "../model/adapter-folder.ts";
import { writeGguf, writtenTypes } from "../model/gguf/write.ts";
import { loadModel, saveModel, storedType } from "../model/model-folder.ts";
import { writeOnnxFolder } from "../model/onnx-folder.ts";
import { dtypes } from "../model/safetensors.ts";

export interface ExportFlags {
  readonly to: string;
  readonly out: string;
  readonly type?: string;
}

const targets = ["gguf", "hf", "onnx", "peft"] as const;

/** Writes a model for other programs. */
export async function exportModelCommand(model: string, { to, out, type }: ExportFlags, screen: Screen): Promise<void> {
  const target = oneOf("--to", to, targets);
  if (existsSync(out)) throw new ConfigError("--out", out, { expected: "a path where nothing is yet" });
  if (type !== undefined && (target === "peft" || target === "onnx"))
    throw new ConfigError("--type", type, { expected: `none with --to ${target}` });
  const choice = { model, environment: { name: "office" } };
  if (target === "peft") exportAdapter(choice, out);
  else {
    const folder = await showDownload(model, screen, (onDownload) => modelFolder(choice, onDownload));
    const loaded = await loadModel(folder);
    const name = basename(resolve(model));
    if (target === "gguf") await writeGguf(out, loaded, { type: oneOf("--type", type ?? "F16", writtenTypes), name });
    else {
      if (target === "hf") await saveModel(out, loaded, { dtype: oneOf("--type", type ?? storedType(loaded), dtypes) });
      else await writeOnnxFolder(out, loaded);
      writeFileSync(join(out, "README.md"), modelCard(model, name, target === "hf" ? "transformers" : "transformers.js"));
    }
  }
  screen.line(`Wrote ${out}`);
}

/** The adapter that a run trained, as PEFT reads it. */
function exportAdapter(choice: ModelChoice, out: string): void {
  findModel(choice); // what is not there, or has not finished, is said so
  const run = runOfModel(choice.model);
  const adapter = run === undefined ? undefined : join(layout.model(run), adapterFolder);
  if (adapter === undefined || !existsSync(adapter))
    throw new ConfigError("--to", "peft", {
      expected: "the folder of a run that trained an adapter (engine.lora)",
      hint: "Export the whole model with --to hf or --to gguf.",
    });
  cpSync(adapter, out, { recursive: true });
}

/** A model card in the Hub's format, with what the run recorded. */
function modelCard(model: string, name: string, library: string): string {
  const run = runOfModel(model);
  const lines = ["---", `library_name: ${library}`, "tags: [reinforcement-learning, retrograde]", "---", "", `# ${name}`, ""];
  if (run === undefined) return [...lines, `Exported by Retrograde from ${basename(model)}.`, ""].join("\n");
  const { config } = readRun(run);
  return [
    ...lines,
    "Trained by Retrograde (`retrograde-rl`). The settings of the run:",
    "",
    "```json",
    JSON.stringify(config, null, 2),
    "```",
    "",
  ].join("\n");
}

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new ConfigError(flag, value, { expected: allowed });
  return found;
}
