import { bfcl } from "./setups/bfcl.ts";

const { config, sources, notes } = bfcl("Qwen/Qwen3-14B", "rloo");

export { config as default, notes, sources };
