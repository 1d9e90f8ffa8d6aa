import { arpoSetup } from "./setups/arpo.ts";

const { config, sources, notes } = arpoSetup("reasoning", "meta-llama/Llama-3.1-8B-Instruct", false);

export { config as default, notes, sources };
