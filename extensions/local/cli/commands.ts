import { type AddCommands, debuggable, trusting } from "../../../src/cli/command-tools.ts";

/** Adds the command that writes models. */
export const localCommands: AddCommands = (program, { screen, examples }) => {
  trusting(debuggable(program.command("export")))
    .summary("write a model for other programs")
    .description(
      "Writes a model, or the one that a run trained: as a GGUF file (llama.cpp, Ollama, LM Studio), a Hugging Face folder with a model card\n" +
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
};
