/** Arrays by Hugging Face parameter name. */
export type Arrays = ReadonlyMap<string, Float32Array>;
