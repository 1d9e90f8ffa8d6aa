import { seeupoSetup } from "./setups/seeupo.ts";

const { config, sources, notes } = seeupoSetup("bfcl", "Qwen/Qwen2.5-14B-Instruct", "gspo");

export { config as default, notes, sources };
