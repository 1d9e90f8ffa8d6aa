import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("bfcl", "grpo");

export { config as default, notes, sources };
