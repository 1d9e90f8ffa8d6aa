import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("bfcl", "seeupo");

export { config as default, notes, sources };
