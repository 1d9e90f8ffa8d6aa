import type { Reply } from "../http/server.ts";
import type { SendEvent } from "./parsed-request.ts";

/**
 * Makes a reply of events that come by and by. It waits for the first, so that an error before it is an answer with a status.
 * @param failed is called with a later error, and may send it
 * @throws what `run` throws before its first event
 */
export async function eventsOf(
  run: (send: SendEvent) => Promise<void>,
  failed: (error: unknown, send: SendEvent) => void,
): Promise<Reply> {
  const waiting: string[] = [];
  let write: ((text: string) => void) | undefined;
  let begun = () => {};
  const first = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const send: SendEvent = (data, event) => {
    const name = event === undefined ? "" : `event: ${event}\n`;
    const text = `${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
    if (write === undefined) waiting.push(text);
    else write(text);
    begun();
  };
  const done = run(send);
  done.catch(() => {}); // looked at below
  await Promise.race([first, done]);
  return {
    events: async (to) => {
      write = to;
      for (const text of waiting) to(text);
      await done.catch((error) => failed(error, send));
    },
  };
}
