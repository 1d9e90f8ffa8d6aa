/**
 * The wait that an answer asks for before the next attempt, in milliseconds: `Retry-After` in seconds or as a date (RFC 9110, §10.2.3), or
 * the finer `Retry-After-Ms` of OpenAI.
 * @returns undefined if it asks for none
 */
export function retryAfterMs(headers: Headers): number | undefined {
  const [milliseconds, after] = [headers.get("retry-after-ms"), headers.get("retry-after")?.trim()];
  if (milliseconds === null && (after === undefined || after === "")) return undefined;
  const seconds = Number(after);
  const wish =
    milliseconds !== null ? Number(milliseconds) : Number.isNaN(seconds) ? Date.parse(after ?? "") - Date.now() : seconds * 1000;
  return Number.isNaN(wish) ? undefined : Math.max(0, wish);
}
