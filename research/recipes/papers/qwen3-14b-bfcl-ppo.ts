import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("bfcl", "ppo");

export { config as default, notes, sources };
