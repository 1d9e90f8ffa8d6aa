import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("appworld", "seeupo");

export { config as default, notes, sources };
