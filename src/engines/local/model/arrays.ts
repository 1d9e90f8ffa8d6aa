/** Arrays by Hugging Face parameter name. */
export type Arrays = ReadonlyMap<string, Float32Array>;

export function copyOf(arrays: Arrays): Map<string, Float32Array> {
  return new Map([...arrays].map(([name, data]) => [name, data.slice()]));
}
