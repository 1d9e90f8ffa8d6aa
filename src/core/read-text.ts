/**
 * Reads the body of an answer. Returns undefined if it is larger than the limit; the rest of it is then not read.
 * @param signal ends the reading. `fetch` holds its own signal weakly, so a body can outlive the request's limit of time
 * @throws the signal's reason when it is aborted
 */
export async function readText(response: Response, maxBytes: number, signal?: AbortSignal): Promise<string | undefined> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  const cancel = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    let text = "";
    let bytes = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > maxBytes) {
        await reader.cancel();
        return undefined;
      }
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}
