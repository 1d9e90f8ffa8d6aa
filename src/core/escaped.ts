/** Returns the pattern of a text, with the flag `u`, under which a hyphen must not be escaped. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
