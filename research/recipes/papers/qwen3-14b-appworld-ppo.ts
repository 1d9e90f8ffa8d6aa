import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("appworld", "ppo");

export { config as default, notes, sources };
