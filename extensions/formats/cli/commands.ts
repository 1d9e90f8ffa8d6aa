import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";

/** Adds the command that publishes a model. */
export const formatCommands: AddCommands = (program, { screen, examples }) => {
  debuggable(program.command("push"))
    .summary("put a model's folder on the Hugging Face Hub")
    .description("Uploads a folder that `export` wrote to the Hugging Face Hub, with the token in HF_TOKEN.")
    .argument("<folder>", "as `export` wrote it")
    .argument("<name>", "owner/name; it is made if it is not there")
    .option("--public", "a new repository is seen by everybody")
    .addHelpText("after", examples("push office-hf me/office"))
    .action(async (folder, name, flags) => {
      const { pushFolder } = await import("../push.ts");
      screen.line(`Pushed to ${await pushFolder(folder, name, { visibility: flags.public === true ? "public" : "private" })}`);
    });
};
