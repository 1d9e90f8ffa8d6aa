import { type AddCommands, debuggable, trusting } from "../../../src/cli/command-tools.ts";
import { permission } from "../../../src/cli/permission.ts";

/** Adds the commands that write models, and install what is in no npm package. */
export const localCommands: AddCommands = (program, { screen, examples }) => {
  trusting(debuggable(program.command("export")))
    .summary("write a model for other programs")
    .description(
      "Writes a model, or the one that a run trained: as a GGUF file (llama.cpp, Ollama, LM Studio), a Hugging Face folder with a model card " +
        "(transformers, vLLM), the same with a model in ONNX (transformers.js), or the run's adapter alone (PEFT).",
    )
    .argument("<model>", "a run's folder, or a model as in `train`")
    .requiredOption("--to <format>", "gguf, hf, onnx or peft")
    .requiredOption("--out <path>", "a new file for gguf, a new folder for the others")
    .option("--type <name>", "of matrices: F32, F16 or Q8_0 in gguf; float32, float16 or bfloat16 in hf")
    .addHelpText("after", examples("export runs/office-seeupo-1 --to gguf --type Q8_0 --out office.gguf"))
    .action(async (model, flags) => {
      const { exportModelCommand } = await import("./export.ts");
      await exportModelCommand(model, flags, screen);
    });
  debuggable(program.command("install"))
    .summary("install CUDA's libraries")
    .description(
      "Installs what engine.device needs and no npm package has: `cuda`, NVIDIA's libraries and the provider of ONNX Runtime, from the Python registry " +
        "by pip (Linux on x64).",
    )
    .argument("<what>", "cuda")
    .option("--yes", "download without asking")
    .action(async (what, flags) => {
      const { installCommand } = await import("./install.ts");
      const isTerminal = process.stdin.isTTY === true && process.stderr.isTTY === true;
      await installCommand(what, flags, screen, (plan) =>
        isTerminal ? permission(plan, process.stdin, process.stderr) : undefined,
      );
    });
};
