/**
 * The first characters of a text, with a notice where there was more.
 * @param dropped what was left out before, in characters or about as many bytes
 */
export function cut(text: string, limit: number, dropped = 0): string {
  const total = text.length + dropped;
  if (total <= limit) return text;
  // Never half of a surrogate pair.
  const end = /[\uD800-\uDBFF]/.test(text[limit - 1] ?? "") ? limit - 1 : limit;
  const shown = Math.min(end, text.length);
  return `${text.slice(0, shown)}\n[cut: the first ${shown} of ${dropped > 0 ? "about " : ""}${total} characters]`;
}
