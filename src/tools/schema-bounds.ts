/** OpenAI's strict schemas have 10 levels and 120,000 characters; those of MCP servers have more. */
const most = { depth: 64, values: 50_000, characters: 1_000_000 } as const;

const within = new WeakSet<object>();

/** Returns the bound that a JSON schema is beyond, as a part of a sentence. undefined if it is within all. */
export function beyondBounds(schema: object): string | undefined {
  if (within.has(schema)) return undefined;
  let [values, characters] = [0, 0];
  // A list instead of recursion: a schema that is nested too deep would end the stack.
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: schema, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (depth > most.depth) return `nested more than ${most.depth} levels deep`;
    if (++values > most.values) return `of more than ${most.values} values`;
    if (typeof value === "string") characters += value.length;
    if (typeof value === "object" && value !== null)
      for (const [name, inner] of Object.entries(value)) {
        characters += name.length;
        open.push({ value: inner, depth: depth + 1 });
      }
    if (characters > most.characters) return `of more than ${most.characters} characters`;
  }
  within.add(schema);
  return undefined;
}
