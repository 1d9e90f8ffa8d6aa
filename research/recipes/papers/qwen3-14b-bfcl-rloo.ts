import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("bfcl", "Qwen/Qwen3-14B", "rloo");

export { config as default, notes, sources };
