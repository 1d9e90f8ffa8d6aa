import { bfcl } from "./setups/bfcl.ts";

const { config, sources, notes } = bfcl("Qwen/Qwen2.5-14B-Instruct", "rloo");

export { config as default, notes, sources };
