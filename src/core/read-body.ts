/**
 * Reads the body of an answer. Returns undefined if it is larger than the limit; the rest of it is then not read.
 * @param signal ends the reading. `fetch` holds its own signal weakly, so a body can outlive the request's limit of time
 * @throws the signal's reason when it is aborted
 */
export async function readBytes(response: Response, maxBytes: number, signal?: AbortSignal): Promise<Uint8Array | undefined> {
  const reader = response.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const cancel = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
      bytes += value.byteLength;
      if (bytes > maxBytes) {
        await reader.cancel();
        return undefined;
      }
      parts.push(value);
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}
