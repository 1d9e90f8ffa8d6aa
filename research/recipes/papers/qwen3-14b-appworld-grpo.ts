import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("appworld", "grpo");

export { config as default, notes, sources };
