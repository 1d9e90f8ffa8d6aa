import { type AddCommands, debuggable } from "../../../src/cli/command-tools.ts";

export const labCommands: AddCommands = (program, { screen, errorScreen, examples }) => {
  debuggable(program.command("lab"))
    .summary("run the theory: which combinations converge")
    .description(
      "Runs every combination of advantage, update, level, order and M on small exact problems: does J ever fall, does it reach\n" +
        "the optimum, and what is the smallest counter-example?",
    )
    .option("--json", "print every cell with its verdict as JSON, and nothing else")
    .option("--full", "one to three turns, more problems and updates: a quarter of an hour or more")
    .option("--cell <id>", "one cell alone, with the verdict that it has in the whole grid")
    .option("--seed <n>", "decides all that is random (default: 0)")
    .option("--turns <list>", "numbers of turns, such as 1,2,3 (default: 1,2)")
    .option("--contexts <list>", "numbers of contexts; their rewards are of scale 1, 1/10, 1/100 (default: 1,2)")
    .option("--actions <n>", "actions of a turn: vocabulary to the power of --tokens (default: 4)")
    .option("--tokens <n>", "tokens of an action (default: 2)")
    .option("--answers <n>", "different answers of the environment after a turn; 1: none (default: 2)")
    .option("--problems <n>", "random problems of each size (default: 8)")
    .option("--updates <n>", "updates of each problem (default: 60)")
    .option("--group-size <n>", "members of a sampled group (default: 4)")
    .option("--clip <x>", "the clip range is [1 − x, 1 + x] (default: 0.2)")
    .option("--eta <x>", "weight of E[M·A] against the KL drift (default: 1)")
    .option("--delta <x>", "the trust region: most nats of KL (default: 0.02)")
    .option("--carry-clip <x>", "the clipped M is held in [1 − x, 1 + x] (default: 0.2)")
    .option("--steps <n>", "gradient steps of a turn update (default: 4)")
    .option("--step-size <x>", "of one gradient step (default: 0.5)")
    .option("--ratio <kind>", "of several tokens, for gradient steps: normalised or plain (default: normalised)")
    .option("--floor <x>", "the maximiser keeps probabilities of K choices above x/K (default: 0.001)")
    .addHelpText(
      "after",
      examples("lab", "lab --json", "lab --cell grae.ppu.turn.reverse.m-exact.history.maximise.exact", "lab --turns 1,2,3"),
    )
    .action(async (flags) => {
      const { labCommand } = await import("./lab.ts");
      labCommand(flags, screen, flags.json === true ? errorScreen : screen);
    });
};
